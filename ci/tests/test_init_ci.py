"""Runs the steps of the files of `peakmark init ci` as GitHub and GitLab would: each job in a folder of its own.

Only what the systems do themselves is in this file: checkout, artifacts, caches, conditions. The steps that install are replaced
by the installed peakmark.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import team_project
import yaml

SHARDS = 2
SUITE = """name = "nightly"
worker = "build/scale"

[[sweep]]
variants = "scale/plain"
backend = "opencl"
axes.n = 20
axes.nx = { pow2 = [8, 12] }
"""


class Ci:
    """A CI system: what outlives a job."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.repository = folder / "project"
        self.jobs = 0
        self.cache = folder / "cache.db"
        self.log = ""
        team_project.create(self.repository, SUITE)
        team_project.sh(f"peakmark init ci --suite scale.toml --shards {SHARDS}", self.repository)

    def new_job(self) -> Path:
        self.jobs += 1
        folder = self.folder / f"job-{self.jobs}"
        folder.mkdir()
        return folder

    def check_out(self, branch: str, folder: Path, depth: int) -> None:
        (folder / ".git").exists() or team_project.sh(
            f"git clone --quiet {f'--depth {depth}' if depth else ''} --branch {branch} file://{self.repository} {folder}", folder
        )

    def install(self, folder: Path) -> None:
        shutil.copytree(team_project.PREFIX, folder / "build/prefix", symlinks=True)

    def run(self, script: str, folder: Path, variables: dict[str, str], shell: list[str]) -> int:
        ended = subprocess.run(
            [*shell, script], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env=team_project.environment() | {"PEAKMARK_PYTHON": sys.executable} | variables,
        )  # fmt: skip
        self.log += ended.stdout
        return ended.returncode

    def restore(self, folder: Path) -> None:
        if self.cache.exists():
            (folder / "build").mkdir(exist_ok=True)
            shutil.copy(self.cache, folder / "build/history.db")

    def save(self, folder: Path) -> None:
        shutil.copy(folder / "build/history.db", self.cache)


class GitHub(Ci):
    """The parts of GitHub that the workflow uses. An unknown action or condition is an error."""

    def pipeline(self, branch: str, pull_request: bool) -> tuple[Path, dict[str, int]]:
        """Runs all jobs. Returns the folder of the last, and how many jobs of a name failed."""
        workflow = yaml.safe_load((self.repository / ".github/workflows/nightly.yml").read_text())
        assert set(workflow[True]) == {"schedule", "workflow_dispatch", "pull_request"}, "YAML reads `on` as true"
        jobs = workflow["jobs"]
        assert list(jobs) == ["build", "measure", "judge", "pages"]
        assert jobs["measure"]["strategy"]["matrix"]["shard"] == list(range(1, SHARDS + 1))
        artifacts: dict[str, Path] = {}
        failed = {}
        for name in ("build", "measure", "judge"):
            shards = range(1, SHARDS + 1) if name == "measure" else [None]
            codes = []
            for shard in shards:
                folder = self.new_job()
                codes.append(self.job(jobs[name], folder, branch, pull_request, shard, artifacts))
            failed[name] = sum(codes)
        return folder, failed

    def job(self, job, folder, branch, pull_request, shard, artifacts) -> bool:
        values = {"matrix.shard": str(shard), "github.run_id": "7", "github.run_attempt": "1",
                  "secrets.PEAKMARK_HISTORY || 'build/history.db'": "build/history.db"}  # fmt: skip

        def filled(text: str) -> str:
            for name, value in values.items():
                text = text.replace("${{ %s }}" % name, value)
            return text

        summary = folder.parent / f"{folder.name}-summary.md"
        variables = {
            "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_REF_TYPE": "branch",
            "GITHUB_REF": "refs/pull/12/merge" if pull_request else f"refs/heads/{branch}",
            "GITHUB_REF_NAME": "12/merge" if pull_request else branch,
            **({"GITHUB_HEAD_REF": branch, "GITHUB_BASE_REF": "main"} if pull_request else {}),
            **{name: filled(str(value)) for name, value in job.get("env", {}).items()},
        }  # fmt: skip
        assert not any("${{" in value for value in variables.values()), variables
        failed = False
        for step in job["steps"]:
            has_history = (folder / "build/history.db").exists()
            conditions = {
                None: not failed,
                "vars.PEAKMARK_REPOSITORY == ''": False,
                "always()": True,
                "always() && github.event_name != 'pull_request' && hashFiles('build/history.db') != ''": not pull_request and has_history,
                "always() && github.event_name != 'pull_request' && vars.PEAKMARK_PAGES == 'true'": False,
            }
            if not conditions[step.get("if")]:
                continue
            if "run" in step:
                if step["name"].startswith("Install"):
                    if step["name"] == "Install peakmark":
                        self.install(folder)
                    continue
                self.log += f"--- {folder.name}: {step['name']}\n"
                failed = self.run(step["run"], folder, variables, ["sh", "-euxc"]) != 0 or failed
                continue
            options = {name: filled(str(value)) for name, value in step.get("with", {}).items()}
            match step["uses"].split("@")[0]:
                case "actions/checkout":
                    if "repository" not in options:
                        self.check_out(branch, folder, int(options.get("fetch-depth", 1)))
                case "actions/cache/restore":
                    self.restore(folder)
                case "actions/cache/save":
                    self.save(folder)
                case "actions/upload-artifact":
                    paths = [folder / one for one in options["path"].split()]
                    artifacts[options["name"]] = self.folder / f"artifact-{self.jobs}-{options['name']}"
                    artifacts[options["name"]].mkdir()
                    for path in filter(Path.exists, paths):
                        copy(path, artifacts[options["name"]] / path.name)
                case "actions/download-artifact":
                    for artifact in [options["name"]] if "name" in options else list(artifacts):
                        copy(artifacts[artifact], folder / options["path"])
                case other:
                    raise AssertionError(other)
        return failed


class GitLab(Ci):
    """The parts of GitLab that the pipeline uses."""

    def pipeline(self, branch: str, pull_request: bool) -> tuple[Path, dict[str, int]]:
        written = yaml.safe_load((self.repository / ".gitlab-ci.yml").read_text())
        assert written["stages"] == ["build", "measure", "judge", "publish"]
        variables = {"GITLAB_CI": "true", "CI_PROJECT_DIR": "", "PEAKMARK_REPOSITORY": "nowhere"}
        if pull_request:
            base = team_project.sh(f"git merge-base main {branch}", self.repository)
            variables |= {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "12",
                          "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}  # fmt: skip
        else:
            variables |= {"CI_PIPELINE_SOURCE": "schedule", "CI_COMMIT_BRANCH": branch}
        artifacts = self.folder / f"artifacts-{self.jobs}"
        artifacts.mkdir()
        failed = {}
        for name in ("build", "measure", "judge"):
            job = {}
            parts = written[name]["extends"]
            for part in [parts] if isinstance(parts, str) else parts:
                job |= written[part]
            job |= written[name]
            count = job.get("parallel", 1)
            failed[name] = 0
            for index in range(1, count + 1):
                folder = self.new_job()
                self.check_out(branch, folder, 0)
                copy(artifacts, folder)
                if "cache" in job:
                    self.restore(folder)
                own = variables | {"CI_NODE_INDEX": str(index), "CI_NODE_TOTAL": str(count)}
                if "Install peakmark" in job["script"][0]:
                    self.install(folder)
                assert job["script"][0].startswith("# Install")
                script = "\n".join([*job.get("before_script", []), *job["script"][1:]])
                self.log += f"--- {folder.name}: {name}\n"
                failed[name] += self.run(script, folder, own, ["sh", "-euxc"]) != 0
                if "after_script" in job:
                    assert self.run("\n".join(job["after_script"]), folder, own, ["sh", "-euxc"]) == 0, self.log
                if "cache" in job and job["cache"].get("policy") != "pull":
                    self.save(folder)
                for pattern in job["artifacts"]["paths"]:
                    for path in folder.glob(pattern):
                        copy(path, artifacts / path.relative_to(folder))
        return folder, failed


def copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, to, dirs_exist_ok=True)
    else:
        shutil.copy(path, to)


def load(file: Path) -> dict:
    return json.loads(file.read_text())


@pytest.mark.parametrize("system", [GitHub, GitLab])
def test_the_steps_measure_in_shards_judge_and_compare_a_pull_request(system, tmp_path):
    ci = system(tmp_path)
    good = team_project.commit(ci.repository, "works")
    folder, failed = ci.pipeline("main", pull_request=False)
    assert failed == {"build": 0, "measure": 0, "judge": 0}, ci.log
    assert load(folder / "build/shard-1.json")["context"]["peakmark"]["shard"].get("places") is None
    first = load(folder / "build/run.json")
    assert first["context"]["peakmark"]["complete"] and len(first["context"]["peakmark"]["planned"]) == 5
    assert (folder / "build/report/index.html").exists()
    assert (folder / "build/junit.xml").exists()

    # The second run is balanced by the seconds of the first.
    folder, failed = ci.pipeline("main", pull_request=False)
    assert failed == {"build": 0, "measure": 0, "judge": 0}, ci.log
    seconds = [row["peakmark"]["seconds"] for row in first["benchmarks"] if "peakmark" in row]
    places = [load(folder / f"build/shard-{shard}.json")["context"]["peakmark"]["shard"]["places"] for shard in (1, 2)]
    assert sorted(places[0] + places[1]) == [0, 1, 2, 3, 4]
    load_of = [sum(seconds[place] for place in one) for one in places]
    assert abs(load_of[0] - load_of[1]) <= max(seconds)

    # A pull request that needs more is compared with its merge base; the base branch's history is not changed by it.
    team_project.sh("git checkout --quiet -b spare", ci.repository)
    worker = ci.repository / "scale.cpp"
    worker.write_text(team_project.grown(worker.read_text()))
    team_project.commit(ci.repository, "keeps a spare buffer")
    folder, failed = ci.pipeline("spare", pull_request=True)
    assert failed == {"build": 0, "measure": 0, "judge": 1}, ci.log
    trends = (folder / "build/trends.md").read_text()
    assert f"against main at its merge base {good[:12]}" in trends or f"against main at {good[:12]}" in trends, trends
    assert "spare" in trends
    assert (folder / "build/report/index.html").exists(), "also of a run that fails"

    team_project.sh("git checkout --quiet main", ci.repository)
    folder, failed = ci.pipeline("main", pull_request=False)
    assert failed == {"build": 0, "measure": 0, "judge": 0}, ci.log


def test_a_missing_shard_is_named(tmp_path):
    ci = GitHub(tmp_path)
    team_project.commit(ci.repository, "works")
    folder, _ = ci.pipeline("main", pull_request=False)
    (folder / "build/shard-2.json").unlink()
    steps = yaml.safe_load((ci.repository / ".github/workflows/nightly.yml").read_text())["jobs"]["judge"]["steps"]
    merge = next(step["run"] for step in steps if step.get("name") == "Merge")
    assert ci.run(merge, folder, {}, ["sh", "-euc"]) != 0
    assert "part 2 of 2 is missing" in ci.log


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("init ci", "no suite; name it with --suite"),
        ("init ci --suite none.toml", "--suite none.toml: no such file"),
        ("init ci --suite /none.toml", "an absolute path"),
        ("init opencl --shards 2", "--shards with opencl: it is for ci only"),
    ],
)
def test_wrong_use_writes_nothing(words, message, tmp_path):
    ended = subprocess.run([team_project.PEAKMARK, *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert os.listdir(tmp_path) == []
