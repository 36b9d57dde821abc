"""Tests the nightly run of a team: a job array on a real Slurm, a history in a real PostgreSQL, and a commit that allocates more."""

import json
import os
import signal
import subprocess
from pathlib import Path

import postgresql_server
import pytest
import team_project
from slurm_cluster import read_line

# The call of one case writes its process id to the FIFO build/held, if there is one, and waits; not in a requeued task.
HOLD = """
static void hold(const Case& c) {
  const char* const fifo = "build/held";
  if (access(fifo, F_OK) != 0 || std::getenv("SLURM_JOB_ID") == nullptr) return;
  if (std::getenv("SLURM_RESTART_COUNT") != nullptr || c["nx"] != 4096) return;
  std::ofstream(fifo) << getpid() << std::endl;
  for (;;) pause();
}
"""
SUITE = """name = "nightly"
worker = "build/scale"

[[sweep]]
variants = ["scale/plain", "scale/steady"]
backend = "opencl"
axes.n = 20
axes.nx = { pow2 = [8, 13] }
"""
ROLES = """
CREATE ROLE writer LOGIN; CREATE ROLE reader LOGIN;
GRANT USAGE ON SCHEMA peakmark TO writer, reader;
GRANT SELECT ON ALL TABLES IN SCHEMA peakmark TO writer, reader;
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA peakmark TO writer;
"""


@pytest.fixture(scope="module")
def database():
    try:
        running = postgresql_server.PostgresqlServer()
    except postgresql_server.NotHere as reason:
        pytest.skip(f"PostgreSQL does not run here: {reason}")
    yield running
    running.stop()


def worker_source(written: str, grown: bool) -> str:
    """Returns the worker of `peakmark init` with a second variant, `scale/steady`; `scale/plain` may need more."""
    first, last = written.index("class Scale"), written.index("std::vector<Part>")
    plain = written[first:last].replace("void call() override {", "void call() override { hold(c_);")
    plain = plain.replace("device_(device),", "device_(device), c_(c),").replace("Device& device_;", "Device& device_;\n  Case c_;")
    steady = plain.replace("Scale", "Steady").replace("hold(c_);", "")
    if grown:
        plain = team_project.grown(plain)
    main = written[last:].replace("add<Scale>(plain)", "add<Scale>(plain).add<Steady>(steady)").replace(
        "  return Worker()", "  Variant steady = plain;\n  steady.name = \"scale/steady\";\n  return Worker()"
    )
    return "#include <unistd.h>\n#include <cstdlib>\n#include <fstream>\n" + written[:first] + HOLD + plain + steady + main


class Project:
    """A Git repository of `peakmark init`, with two variants, on the cluster."""

    def __init__(self, folder: Path, cluster, database):
        self.folder = folder
        self.cluster = cluster
        self.last = ""
        slurm = {"SLURM_CONF": cluster.environment["SLURM_CONF"], "PEAKMARK_HISTORY": database.url("writer")}
        cluster.environment = team_project.environment() | slurm
        team_project.create(folder, SUITE)
        self.written = (folder / "scale.cpp").read_text()
        self.held, self.ended = folder / "build/held", folder / "build/ended"
        (folder / "build").mkdir()
        for fifo in (self.held, self.ended):
            os.mkfifo(fifo)

    def peakmark(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.cluster.call(team_project.PEAKMARK, *words, cwd=self.folder)

    def commit_and_build(self, note: str, grown: bool) -> str:
        """Returns the id of the new commit."""
        (self.folder / "scale.cpp").write_text(worker_source(self.written, grown) + f"// {note}\n")
        commit = team_project.commit(self.folder, note)
        team_project.sh("[ -e build/CMakeCache.txt ] || cmake -S . -B build -DCMAKE_BUILD_TYPE=Debug; cmake --build build", self.folder)
        return commit

    def submit(self, *words: str) -> None:
        submitted = self.peakmark("slurm", "-o", "build/nightly.json", *words)
        assert submitted.returncode == 0, submitted.stderr
        self.last = submitted.stdout.splitlines()[-1].removeprefix("job ").split(":")[0]

    def start_nightly(self) -> None:
        self.submit("scale.toml", "--tasks", "3", "--", "--memory-only")

    def end_nightly(self) -> int:
        """Waits for the last job. Returns its exit code."""
        # `sbatch --wait`, and therefore `peakmark slurm --wait`, polls only every few seconds.
        waiting = self.cluster.call("sbatch", "--quiet", "--output=/dev/null", f"--dependency=afterany:{self.last}",
                                    f"--wrap=echo >{self.ended}", cwd=self.folder)  # fmt: skip
        assert waiting.returncode == 0, waiting.stderr
        read_line(self.ended)
        return self.peakmark("slurm", "--status", "-o", "build/nightly.json").returncode

    def logs(self) -> str:
        return "\n".join(f"{file.name}: {file.read_text()}" for file in self.folder.glob("build/nightly.json.slurm/*.log"))

    def held_task(self) -> tuple[str, int]:
        """Waits until the waiting case has started. Returns the task that measures it, and the process of its worker."""
        worker = int(read_line(self.held))
        environment = Path(f"/proc/{worker}/environ").read_bytes().split(b"\0")
        variables = dict(one.decode().split("=", 1) for one in environment if one.startswith(b"SLURM_ARRAY_"))
        return f"{variables['SLURM_ARRAY_JOB_ID']}_{variables['SLURM_ARRAY_TASK_ID']}", worker


def measured_bytes(file: Path) -> dict[str, dict]:
    """Returns the values of each case in a run, without times."""
    run = json.loads(file.read_text())
    assert run["context"]["peakmark"]["complete"]
    return {
        row["name"].removesuffix("_peakmark"): {key: value for key, value in row["peakmark"].items() if key != "seconds"}
        for row in run["benchmarks"]
        if "peakmark" in row
    }


def supervisor_of(worker: int) -> int:
    """Returns the parent process: `peakmark run` of the task."""
    return int(Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_three_nightly_runs_of_a_cluster_end_with_one_finding_that_names_the_commit(tmp_path, cluster, database):
    project = Project(tmp_path, cluster, database)
    created = project.peakmark("history", "create", "--history", database.url("owner"))
    assert created.returncode == 0, created.stderr
    database.execute(ROLES)
    run = tmp_path / "build/nightly.json"
    sent = tmp_path / "build/sent"
    sent.mkdir()
    notify = tmp_path / "build/notify.sh"
    notify.write_text(f"#!/bin/sh\ncat >{sent}/$$\n")
    notify.chmod(0o755)

    # The first run: a task is requeued, as by preemption, and continues.
    good = project.commit_and_build("works", grown=False)
    project.start_nightly()
    task, _ = project.held_task()
    requeued = cluster.call("scontrol", "requeue", task)
    assert requeued.returncode == 0, requeued.stderr
    assert project.end_nightly() == 0, project.logs()
    assert "resumed: " in project.logs(), project.logs()
    alone = project.peakmark("run", "scale.toml", "--memory-only", "-o", "build/alone.json")
    assert alone.returncode == 0, alone.stderr
    assert len(measured_bytes(run)) == 12
    assert measured_bytes(run) == measured_bytes(tmp_path / "build/alone.json")
    assert project.peakmark("trends", "--notify", str(notify)).returncode == 4, "nothing to compare with"

    # The second run has the planted commit. A task is killed; its shard is measured alone.
    bad = project.commit_and_build("keeps a spare buffer", grown=True)
    project.start_nightly()
    _, worker = project.held_task()
    os.kill(supervisor_of(worker), signal.SIGKILL)
    assert project.end_nightly() == 3, "cases are lost" + project.logs()
    assert "of 3 is missing" in project.logs(), project.logs()
    assert project.peakmark("slurm", "--status", "-o", "build/nightly.json").stdout.count("ended, not complete") == 1
    project.held.unlink()
    project.submit("--rerun")
    assert project.end_nightly() == 1, "the estimator is too low now" + project.logs()
    assert project.peakmark("trends", "--notify", str(notify)).returncode == 1

    # The third run has a harmless commit.
    project.commit_and_build("other words", grown=True)
    project.start_nightly()
    assert project.end_nightly() == 1, project.logs()
    assert project.peakmark("trends", "--notify", str(notify)).returncode == 1

    trends = project.peakmark("trends", "--json", "--history", database.url("reader"))
    assert trends.returncode == 1, trends.stderr
    found = json.loads(trends.stdout)
    grown = [name for name in measured_bytes(run) if name.startswith("scale/plain/")]
    assert len(grown) == 6
    (finding,) = found["findings"]
    assert (finding["verdict"], finding["state"], finding["new"]) == ("regression", "open", False)
    assert (finding["commit_before"], finding["commit"]) == (good, bad)
    assert sorted(finding["cases"]) == sorted(grown)
    assert finding["relative"] == 4 / (4 * 20 + 4 * 20), "a row, beside 20 rows of input and of output"
    assert "spare" in finding["why"]
    assert finding["compare"].startswith(f"peakmark compare scale.toml --commits {good[:12]} {bad[:12]} "), "the suite is `nightly`"
    said = [json.loads(file.read_text()) for file in sent.iterdir()]
    assert [one["event"] for one in said] == ["opened"], "said once"
    assert said[0]["finding"] == finding["finding"]
