"""Tests `peakmark slurm` on a real Slurm of one node."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from slurm_cluster import SlurmCluster, read_line

ROOT = Path(__file__).resolve().parents[2]
PEAKMARK = os.environ.get("PEAKMARK_COMMAND", str(ROOT / "build/prefix/bin/peakmark"))
FAKE_WORKER = ROOT / "build/release/harness/measure/supervise/fake_worker"

# The axis decides what a case of the worker does: `report_pid` writes to the FIFO and never returns. A requeued task has no
# FIFO.
WORKER = """#!/bin/sh
[ -z "$SLURM_RESTART_COUNT" ] || unset FAKE_WORKER_FIFO
exec '{worker}' "$@"
"""


class Project:
    """A folder with a suite, and peakmark in it."""

    def __init__(self, folder: Path, cluster: SlurmCluster):
        self.folder = folder
        self.cluster = cluster
        worker = folder / "worker.sh"
        worker.write_text(WORKER.format(worker=FAKE_WORKER))
        worker.chmod(0o755)

    def suite(self, *deeds: str) -> None:
        numbers = list(range(1, len(deeds) + 1))
        (self.folder / "nightly.toml").write_text(
            'name = "nightly"\nworker = "worker.sh"\n[[sweep]]\nvariants = "fake/case"\nbackend = "dry"\n'
            f"zip = [{{ does = {json.dumps(deeds)}, n = {numbers} }}]\n"
        )

    def peakmark(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.cluster.call(PEAKMARK, *words, cwd=self.folder)

    def slurm(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.peakmark("slurm", "-o", "nightly.json", *words)

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen([PEAKMARK, "slurm", "-o", "nightly.json", *words], cwd=self.folder, text=True,
                                env={**self.cluster.environment, **environment},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip

    def run(self, name: str = "nightly.json") -> dict:
        return json.loads((self.folder / name).read_text())

    def text(self, name: str) -> str:
        return (self.folder / "nightly.json.slurm" / name).read_text()

    def logs(self) -> str:
        return "\n".join(f"{file.name}: {file.read_text()}" for file in (self.folder / "nightly.json.slurm").rglob("*.log"))


@pytest.fixture
def project(tmp_path, cluster):
    return Project(tmp_path, cluster)


def cases(run: dict) -> list[dict]:
    """Returns the measured values of each case, without durations."""
    measured = [dict(row["peakmark"]) for row in run["benchmarks"] if "peakmark" in row]
    for case in measured:
        assert case.pop("seconds") > 0
    return measured


def test_an_array_with_a_requeued_task_gives_the_run_of_one_machine(project, cluster):
    project.suite(*["ok"] * 6, "report_pid", "ok", "ok", "ok", "ok")
    alone = project.peakmark("run", "nightly.toml", "-o", "alone.json", "--memory-only")
    assert alone.returncode == 0, alone.stderr
    project.peakmark("history", "create", "--history", "history.db")

    fifo = project.folder / "fifo"
    os.mkfifo(fifo)
    submitted = project.start("nightly.toml", "--tasks", "4", "--history", "history.db", "--wait", "--", "--memory-only",
                              FAKE_WORKER_FIFO=str(fifo))  # fmt: skip
    read_line(fifo)  # shard 3 has measured case 3, and is in case 7
    status = project.slurm("--status")
    assert status.returncode == 4, "not finished"
    assert "shard 3  " in status.stdout and "RUNNING" in status.stdout, status.stdout
    task = next(line.split()[2] for line in status.stdout.splitlines() if line.startswith("shard 3 "))
    requeued = cluster.call("scontrol", "requeue", task)
    assert requeued.returncode == 0, requeued.stderr
    output, errors = submitted.communicate(timeout=300)
    assert submitted.returncode == 0, output + errors + project.logs()

    log = project.text("shard-3.log")
    assert "interrupted: 2 cases are not measured" in log, log
    assert "resumed: 1 case is measured already" in log, log
    merged = project.run()
    assert cases(merged) == cases(project.run("alone.json"))
    planned = [run["context"]["peakmark"]["planned"] for run in (merged, project.run("alone.json"))]
    assert planned[0] == planned[1]
    assert merged["context"]["peakmark"]["complete"] and merged["context"]["peakmark"]["shard"] is None
    listed = project.peakmark("history", "log", "--history", "history.db")
    assert listed.stdout.count("nightly") == 1, listed.stdout
    assert project.slurm("--status").returncode == 0


def test_missing_shards_are_named_and_measured_alone(project, cluster):
    project.suite("ok", "ok", "ok", "exit_3")
    submitted = project.slurm("nightly.toml", "--tasks", "2", "--wait", "--", "--memory-only")
    assert submitted.returncode == 3, "a case crashed" + submitted.stderr
    folder = project.folder / "nightly.json.slurm"
    (folder / "shard-2.json").unlink()
    merged = cluster.call("sbatch", "--wait", str(folder / "merge.sh"))
    assert merged.returncode == 3
    log = project.text("merge.log")
    assert "shard 2 of 2 is missing" in log and "slurm --rerun -o" in log, log

    before = project.run("nightly.json.slurm/shard-1.json")["context"]["peakmark"]["id"]
    project.suite("ok", "ok", "ok", "ok")
    changed = project.slurm("--rerun", "--wait")
    assert "measuring shards 2\n" in changed.stderr, changed.stderr
    assert changed.returncode == 2, "the suite is another one now"
    assert "has another suite" in project.text("merge.log")
    project.suite("ok", "ok", "ok", "exit_3")
    (folder / "shard-2.json").unlink()
    again = project.slurm("--rerun", "--wait")
    assert again.returncode == 3, again.stderr + project.logs()
    assert project.run("nightly.json.slurm/shard-1.json")["context"]["peakmark"]["id"] == before, "not measured again"
    # If a task runs twice, it measures nothing again.
    twice = cluster.call("sbatch", "--wait", "--array=2", str(folder / "shards.sh"))
    assert twice.returncode == 0
    assert "nothing to resume" in project.text("shard-2.log")


def test_each_kind_of_device_has_a_run_of_its_own_balanced_by_the_earlier_one(project):
    project.suite("ok", "ok", "ok", "ok", "ok")
    kinds = ("--constraint", "kind_a", "--constraint", "kind_b")
    first = project.slurm("nightly.toml", "--tasks", "2", *kinds, "--wait", "--", "--memory-only")
    assert first.returncode == 0, first.stderr + project.logs()
    runs = [project.run(f"nightly.{kind}.json") for kind in ("kind_a", "kind_b")]
    assert cases(runs[0]) == cases(runs[1])
    assert runs[0]["context"]["peakmark"]["id"] != runs[1]["context"]["peakmark"]["id"]
    assert not (project.folder / "nightly.json").exists()
    balanced = project.slurm("nightly.toml", "--tasks", "2", *kinds, "--wait", "--", "--memory-only")
    assert balanced.returncode == 0, balanced.stderr + project.logs()
    assert "--balance" in project.text("kind_a/shards.sh")
    shard = project.run("nightly.json.slurm/kind_a/shard-1.json")["context"]["peakmark"]["shard"]
    assert len(shard["places"]) > 0
    assert cases(project.run("nightly.kind_a.json")) == cases(runs[0])


def test_messages_of_sbatch_are_shown_and_jobs_can_be_cancelled(project, cluster):
    project.suite("ok", "report_pid")
    refused = project.slurm("nightly.toml", "--tasks", "2", "--partition", "elsewhere")
    assert refused.returncode == 2
    assert "sbatch rejects it" in refused.stderr and "invalid partition" in refused.stderr, refused.stderr
    assert cluster.call("squeue", "--me", "--noheader").stdout == ""
    held = project.slurm("nightly.toml", "--tasks", "2", "--sbatch-option=--hold")
    assert held.returncode == 0, held.stderr
    second = project.slurm("nightly.toml", "--tasks", "2")
    assert second.returncode == 2
    assert "still in the queue" in second.stderr, second.stderr
    assert project.slurm("--cancel").returncode == 0
    assert cluster.call("squeue", "--me", "--noheader", "--states=PENDING,RUNNING").stdout == ""
    assert project.slurm("--status").returncode == 4


def test_paths_that_a_shell_would_execute_are_data(project, cluster):
    project.suite("ok", "ok", "ok")
    name = """it's $(touch executed) `touch executed` "x" #%a%%;touch executed&{y,z}*~"""
    history = project.folder / f"{name}.db".replace('"', "")  # which the path of a history cannot have
    folder = project.folder / name
    folder.mkdir()
    suite = project.folder / f"{name}\ntouch executed\n\\.toml"
    (project.folder / "nightly.toml").rename(suite)
    submitted = cluster.call(
        PEAKMARK, "slurm", str(suite), "--tasks", "2", "--wait", "--history", str(history), "-o", f"{name}.json",
        "--sbatch-option", "--comment='$(touch executed) # x'", "--", "--memory-only", "--filter", "ok|$(touch executed)", cwd=folder,
    )  # fmt: skip
    logs = {file.name: file.read_text() for file in (folder / f"{name}.json.slurm").glob("*.log")}
    assert submitted.returncode == 0, submitted.stderr + str(logs)
    assert set(logs) == {"shard-1.log", "shard-2.log", "merge.log", "finish.log"}
    assert len(cases(json.loads((folder / f"{name}.json").read_text()))) == 3
    listed = project.peakmark("history", "log", "--history", str(history))
    assert listed.stdout.count("nightly") == 1, listed.stdout
    assert list(project.folder.rglob("executed")) == []
