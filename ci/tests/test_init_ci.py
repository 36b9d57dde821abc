"""Runs every step of the files of `peakmark init ci` as GitHub and GitLab would: each job in its own folder.

This file simulates the systems: checkout, artifacts, caches, conditions. `apt-get` would need a network; it only notes the packages
to install. `python3 -m venv` copies one environment, since making one takes ten seconds, and some 60 jobs do so. The wheel that pip
installs has only the commands of the installed peakmark; harness/python/tests/test_wheel.py tests the complete wheel. A step that no
test runs is a failure.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
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
FORGE = Path(__file__).with_name("fake_forge.py")
PROGRAMS = {
    "gh": f'exec "$PYTHON" {FORGE} gh "$@"',
    "curl": f'exec "$PYTHON" {FORGE} curl "$@"',
    "id": 'echo "$USER_ID"',
    "apt-get": 'echo "$*" >>"$PACKAGES"',
    "python3": """case "$1 $2" in
  "-m venv") mkdir -p "$3" && cp -a "$ENVIRONMENT/." "$3" ;;
  *) exec "$PYTHON" "$@" ;;
esac""",
}
MARKER = "<!-- peakmark trends: nightly -->"
BUILD_PACKAGES = {"cmake", "g++", "ninja-build", "ocl-icd-opencl-dev", "opencl-c-headers"}
RUN_PACKAGES = {"git", "ca-certificates", "python3-venv", "ocl-icd-libopencl1", "pocl-opencl-icd"}


@functools.cache
def environment_to_copy() -> tempfile.TemporaryDirectory:
    folder = tempfile.TemporaryDirectory()
    subprocess.run([sys.executable, "-m", "venv", folder.name], check=True)
    return folder


def make_wheel(folder: Path) -> Path:
    """Writes a wheel whose command and CMake package are those of the installed peakmark."""
    info = "peakmark-0.1.0.dist-info"
    files = {
        "peakmark/__init__.py": "",
        "peakmark/__main__.py": f"import os, sys\n\ndef main():\n    os.execv({str(team_project.PEAKMARK)!r}, ['peakmark', *sys.argv[1:]])\n",
        "peakmark/cmake_prefix.py": f"print({str(team_project.PREFIX)!r})\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: peakmark\nVersion: 0.1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\npeakmark = peakmark.__main__:main\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    path = folder / "peakmark-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


class Ci:
    """A CI system: the data that outlives a job."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.repository = folder / "project"
        self.programs = folder / "programs"
        self.jobs = 0
        self.cache = folder / "cache.db"
        self.log = ""
        self.runs_as_root = True
        self.has_python_packages = False
        self.steps: set[tuple] = set()
        self.steps_run: set[tuple] = set()
        self.failed_steps: list[str] = []
        self.comments = folder / "comments.json"
        # A comment of somebody else, who copied the first line.
        self.comments.write_text(json.dumps([{"id": 1, "user": {"login": "eve"}, "author": {"id": 1}, "body": f"{MARKER}\nmine"}]))
        team_project.create(self.repository, SUITE)
        self.wheel = make_wheel(folder)
        self.has_wheel = True
        team_project.sh(f"peakmark init ci --suite scale.toml --shards {SHARDS} --wheel {self.wheel}", self.repository)
        self.programs.mkdir()
        for name, script in PROGRAMS.items():
            (self.programs / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (self.programs / name).chmod(0o755)

    def new_job(self) -> Path:
        self.jobs += 1
        folder = self.folder / f"job-{self.jobs}"
        folder.mkdir()
        return folder

    def check_out(self, branch: str, folder: Path, depth: int) -> None:
        (folder / ".git").exists() or team_project.sh(
            f"git clone --quiet {f'--depth {depth}' if depth else ''} --branch {branch} file://{self.repository} {folder}", folder
        )

    def environment(self, folder: Path) -> dict[str, str]:
        kept = team_project.environment()
        kept.pop("PEAKMARK_PYTHON", None)
        python = Path(sys.executable)
        # pip finds the packages of this Python, and no others: a requirement that they do not meet is an error.
        found = {"PEAKMARK_PYTHON": str(python)} if self.has_python_packages else {
            "PYTHONPATH": sysconfig.get_paths()["purelib"], "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"
        }  # fmt: skip
        return kept | found | {
            "PATH": f"{self.programs}:{python.parent}:{kept['PATH']}", "USER_ID": "0" if self.runs_as_root else "1000",
            "PYTHON": str(python), "ENVIRONMENT": environment_to_copy().name, "PACKAGES": f"{folder}-packages", "COMMENTS": str(self.comments), "GIT_CONFIG_GLOBAL": f"{folder}-gitconfig",
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
        }  # fmt: skip

    def run(self, script: str, folder: Path, variables: dict[str, str]) -> int:
        ended = subprocess.run(
            ["sh", "-euxc", script], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env=self.environment(folder) | variables,
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

    def pipeline(self, branch: str, pull_request: bool, lost_shard: int = 0) -> tuple[Path, dict[str, int]]:
        """Runs the jobs. Returns the folder of the last that measures or judges, and how many jobs of a name failed."""
        workflow = yaml.safe_load((self.repository / ".github/workflows/nightly.yml").read_text())
        assert set(workflow[True]) == {"schedule", "workflow_dispatch", "pull_request"}, "YAML reads `on` as true"
        jobs = workflow["jobs"]
        self.environment_of_workflow = workflow["env"]
        self.steps = {(name, number) for name, job in jobs.items() for number in range(len(job["steps"]))}
        assert jobs["measure"]["strategy"]["matrix"]["shard"] == list(range(1, SHARDS + 1))
        artifacts: dict[str, Path] = {}
        failed: dict[str, int] = {}
        for name, job in jobs.items():
            conditions = {
                None: "needs" not in job or failed.get(job["needs"]) == 0,
                "${{ !cancelled() && needs.measure.result != 'skipped' }}": "measure" in failed,
                "${{ !cancelled() && needs.judge.result != 'skipped' && github.event_name != 'pull_request' "
                "&& vars.PEAKMARK_PAGES == 'true' }}": "judge" in failed and not pull_request,
                "${{ !cancelled() && needs.judge.result != 'skipped' && github.event_name == 'pull_request' "
                "&& github.event.pull_request.head.repo.full_name == github.repository }}": "judge" in failed and pull_request,
            }  # fmt: skip
            if not conditions[job.get("if")]:
                continue
            failed[name] = 0
            for shard in job.get("strategy", {"matrix": {"shard": [None]}})["matrix"]["shard"]:
                folder = self.new_job()
                lost = shard is not None and shard == lost_shard
                failed[name] += lost or self.job(name, job, folder, branch, pull_request, shard, artifacts)
            if name not in ("pages", "comment"):
                last = folder
        return last, failed

    def summary(self, folder: Path) -> Path:
        return folder.parent / f"{folder.name}-summary.md"

    def job(self, name, job, folder, branch, pull_request, shard, artifacts) -> bool:
        wheel = str(self.wheel) if self.has_wheel else ""
        values = {f"vars.PEAKMARK_WHEEL || '{self.wheel}'": wheel, "matrix.shard": str(shard), "github.run_id": "7", "github.run_attempt": "1", 
                  "secrets.PEAKMARK_HISTORY || 'build/history.db'": "build/history.db", "github.token": "token",
                  "github.event.pull_request.number": "12", "github.server_url": "https://github.example", "github.repository": "team/project"}  # fmt: skip

        def filled(text: str) -> str:
            for name, value in values.items():
                text = text.replace("${{ %s }}" % name, value)
            return text

        variables = {
            "GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "team/project", "GITHUB_STEP_SUMMARY": str(self.summary(folder)), "GITHUB_REF_TYPE": "branch",
            "GITHUB_REF": "refs/pull/12/merge" if pull_request else f"refs/heads/{branch}",
            "GITHUB_REF_NAME": "12/merge" if pull_request else branch,
            **({"GITHUB_HEAD_REF": branch, "GITHUB_BASE_REF": "main"} if pull_request else {}),
            **{name: filled(str(value)) for name, value in (self.environment_of_workflow | job.get("env", {})).items()},
        }  # fmt: skip
        failed = False
        for number, step in enumerate(job["steps"]):
            has_history = (folder / "build/history.db").exists()
            conditions = {
                None: not failed,
                "always()": True,
                "always() && github.event_name != 'pull_request' && hashFiles('build/history.db') != ''": not pull_request and has_history,
                "always() && github.event_name != 'pull_request' && vars.PEAKMARK_PAGES == 'true'": not pull_request,
            }
            if not conditions[step.get("if")]:
                continue
            self.steps_run.add((name, number))
            if "run" in step:
                self.log += f"--- {folder.name}: {step.get('name')}\n"
                of_step = variables | {name: filled(value) for name, value in step.get("env", {}).items()}
                assert not any("${{" in value for value in of_step.values()), of_step
                if self.run(step["run"], folder, of_step) != 0:
                    failed = True
                    self.failed_steps.append(step.get("name", ""))
                continue
            options = {name: filled(str(value)) for name, value in step.get("with", {}).items()}
            match step["uses"].split("@")[0]:
                case "actions/checkout":
                    self.check_out(branch, folder, int(options.get("fetch-depth", 1)))
                case "actions/cache/restore":
                    self.restore(folder)
                case "actions/cache/save":
                    self.save(folder)
                case "actions/upload-artifact":
                    artifacts[options["name"]] = self.folder / f"artifact-{self.jobs}-{options['name']}"
                    artifacts[options["name"]].mkdir()
                    for path in (path for one in options["path"].split() for path in folder.glob(one)):
                        copy(path, artifacts[options["name"]] / path.name)
                case "actions/download-artifact":
                    assert options.get("pattern", "{built,shard-*}") == "{built,shard-*}"
                    for artifact in [options["name"]] if "name" in options else list(artifacts):
                        copy(artifacts[artifact], folder / options["path"])
                case "actions/upload-pages-artifact":
                    if not (folder / options["path"]).exists():
                        failed = True
                        continue
                    artifacts["github-pages"] = self.folder / f"artifact-{self.jobs}-pages"
                    copy(folder / options["path"], artifacts["github-pages"])
                case "actions/deploy-pages":
                    failed = "github-pages" not in artifacts
                    failed or shutil.copytree(artifacts["github-pages"], self.folder / "site", dirs_exist_ok=True)
                case other:
                    raise AssertionError(other)
        return failed


class GitLab(Ci):
    """The parts of GitLab that the pipeline uses. An unknown rule is an error."""

    def pipeline(self, branch: str, pull_request: bool) -> tuple[Path, dict[str, int]]:
        written = yaml.safe_load((self.repository / ".gitlab-ci.yml").read_text())
        variables = {"GITLAB_CI": "true", "CI_PROJECT_DIR": "", "CI_API_V4_URL": "https://gitlab.example/api/v4", "CI_PROJECT_ID": "5",
                     "CI_PIPELINE_URL": "https://gitlab.example/run/7", "PEAKMARK_COMMENT_TOKEN": "project-token"}  # fmt: skip
        if pull_request:
            base = team_project.sh(f"git merge-base main {branch}", self.repository)
            variables |= {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "12",
                          "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}  # fmt: skip
        else:
            variables |= {"CI_PIPELINE_SOURCE": "schedule", "CI_COMMIT_BRANCH": branch}
        rules = {
            '$CI_PIPELINE_SOURCE == "merge_request_event"': pull_request,
            '$CI_PIPELINE_SOURCE == "schedule"': not pull_request,
            '$CI_PIPELINE_SOURCE == "merge_request_event" && $PEAKMARK_COMMENT_TOKEN': pull_request,
        }
        artifacts = self.folder / f"artifacts-{self.jobs}"
        artifacts.mkdir()
        jobs = {name: merged(written, name) for name in written if name != "stages" and not name.startswith(".")}
        self.steps = {(name, part) for name, job in jobs.items() for part in job if part.endswith("script")}
        failed: dict[str, int] = {}
        for name, job in sorted(jobs.items(), key=lambda one: written["stages"].index(one[1]["stage"])):
            matching = [rule for rule in job["rules"] if rules[rule["if"]]]
            if not matching or (any(failed.values()) and "always" not in (job.get("when"), matching[0].get("when"))):
                continue
            count = job.get("parallel", 1)
            failed[name] = 0
            for index in range(1, count + 1):
                folder = self.new_job()
                self.check_out(branch, folder, 0)
                copy(artifacts, folder)
                if "cache" in job:
                    self.restore(folder)
                of_rule = matching[0].get("variables", {})
                failed[name] += self.job(name, job, folder, variables | of_rule | {"CI_NODE_INDEX": str(index), "CI_NODE_TOTAL": str(count)})
                policy = job.get("cache", {}).get("policy", "pull")
                if of_rule.get(policy.removeprefix("$"), policy) == "pull-push":
                    self.save(folder)
                for pattern in job.get("artifacts", {}).get("paths", []):
                    for path in folder.glob(pattern):
                        copy(path, artifacts / path.relative_to(folder))
            if name not in ("pages", "comment"):
                last = folder
        if (artifacts / "public").exists():
            copy(artifacts / "public", self.folder / "site")
        return last, failed

    def job(self, name: str, job: dict, folder: Path, variables: dict[str, str]) -> bool:
        self.log += f"--- {folder.name}: {name}\n"
        # A variable of the project comes before one of the file.
        variables = job.get("variables", {}) | variables
        variables = {name: str(value) for name, value in variables.items()}
        # The one shell of before_script and script ends at the first command that fails.
        failed = self.run("\n".join([*job.get("before_script", []), *job["script"]]), folder, variables) != 0
        if not failed:
            self.steps_run |= {(name, part) for part in ("before_script", "script") if part in job}
        if "after_script" in job:
            assert self.run("\n".join(job["after_script"]), folder, variables) == 0, self.log
            self.steps_run.add((name, "after_script"))
        return failed


def merged(written: dict, name: str) -> dict:
    """Returns a job with what it extends."""
    job = {}
    parts = written[name].get("extends", [])
    for part in [parts] if isinstance(parts, str) else parts:
        job |= written[part]
    return job | written[name]


def copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, to, dirs_exist_ok=True)
    else:
        shutil.copy(path, to)


def load(file: Path) -> dict:
    return json.loads(file.read_text())


def packages(folder: Path) -> set[str]:
    """Returns the packages that a job installed."""
    log = Path(f"{folder}-packages")
    calls = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return {word for call in calls if "install" in call for word in call if not word.startswith("-")} - {"install"}


@pytest.mark.parametrize("system", [GitHub, GitLab])
def test_every_step_runs_and_measures_in_shards_judges_and_compares_a_pull_request(system, tmp_path):
    ci = system(tmp_path)
    good = team_project.commit(ci.repository, "works")
    if system is GitHub:
        ci.has_wheel = False
        _, failed = ci.pipeline("main", pull_request=False)
        assert failed == {"build": 1}
        assert "no peakmark: PEAKMARK_WHEEL is not set; set the variable to what follows" in ci.log
        ci.has_wheel, ci.log = True, ""
    before = ci.jobs
    folder, failed = ci.pipeline("main", pull_request=False)
    assert failed == {"build": 0, "measure": 0, "judge": 1, "pages": 0}, ci.log
    assert "not compared: exit code 4" in ci.log, "the first run is never green"
    assert "Manually-specified variables were not used" not in ci.log, "options of peakmark's CMake"
    assert load(folder / "build/shard-1.json")["context"]["peakmark"]["shard"].get("places") is None
    first = load(folder / "build/run.json")
    assert first["context"]["peakmark"]["device_class"] == "hosted-cpu" and not first["context"]["peakmark"]["memory_only"]
    assert first["context"]["peakmark"]["complete"] and len(first["context"]["peakmark"]["planned"]) == 5
    assert (folder / "build/junit.xml").exists()
    if system is GitLab:
        assert "peakmark_requested_peak_bytes" in (folder / "build/metrics.txt").read_text()
        assert load(folder / "build/quality.json") == []
    assert (ci.folder / "site/index.html").read_bytes() == (folder / "build/report/index.html").read_bytes()
    built, *measured = (ci.folder / f"job-{before + number}" for number in range(1, 2 + SHARDS))
    of_system = {"zstd"} if system is GitHub else set()
    assert packages(built) == RUN_PACKAGES | BUILD_PACKAGES | of_system
    assert packages(folder) == RUN_PACKAGES | of_system
    for one in measured:
        assert packages(one) == RUN_PACKAGES
    if system is GitHub:
        parts = [(folder / f"build/{part}.md").read_text() for part in ("summary", "trends")]
        assert ci.summary(folder).read_text() == "".join(parts) and all(parts)
        assert Path(f"{built}-gitconfig").read_text().count(str(built)) == 1

    # The second run is balanced by the seconds of the first. Its runners install nothing.
    ci.runs_as_root, ci.has_python_packages = False, True
    folder, failed = ci.pipeline("main", pull_request=False)
    assert failed == {"build": 0, "measure": 0, "judge": 0, "pages": 0}, ci.log
    assert packages(folder) == set()
    seconds = [row["peakmark"]["seconds"] for row in first["benchmarks"] if "peakmark" in row]
    places = [load(folder / f"build/shard-{shard}.json")["context"]["peakmark"]["shard"]["places"] for shard in (1, 2)]
    assert sorted(places[0] + places[1]) == [0, 1, 2, 3, 4]
    load_of = [sum(seconds[place] for place in one) for one in places]
    assert abs(load_of[0] - load_of[1]) <= max(seconds)

    # A pull request that needs more is compared with its merge base; the base branch's history is not changed by it.
    team_project.sh("git checkout --quiet -b spare", ci.repository)
    worker = ci.repository / "scale.cpp"
    before_growth = worker.read_text()
    worker.write_text(team_project.grown(before_growth))
    team_project.commit(ci.repository, "keeps a spare buffer")
    history = ci.cache.read_bytes()
    folder, failed = ci.pipeline("spare", pull_request=True)
    assert failed == {"build": 0, "measure": 0, "judge": 1, "comment": 0}, ci.log
    trends = (folder / "build/trends.md").read_text()
    comments = load(ci.comments)
    assert len(comments) == 2 and comments[0]["body"].endswith("mine")
    comment = comments[1]["body"]
    assert comment.startswith(f"{MARKER}\n## 1 finding: 1 regression\n") and trends in comment and len(comment) < 65536
    assert comment.endswith("\n[Page and files](https://github.example/team/project/actions/runs/7)\n" if system is GitHub else "\n[Page and files](https://gitlab.example/run/7)\n")
    assert f"against main at its merge base {good[:12]}" in trends or f"against main at {good[:12]}" in trends, trends
    assert "spare" in trends
    assert "Times are not gated: no device for times is named" in trends
    measured = load(folder / "build/run.json")["context"]["peakmark"]
    assert measured["memory_only"] and measured["device_class"] == "hosted-cpu"
    assert ci.cache.read_bytes() == history, "a pull request does not change the history of the base branch"
    assert (folder / "build/report/index.html").exists(), "also of a run that fails"

    # The next commit of the pull request updates its comment.
    worker.write_text(before_growth)
    team_project.commit(ci.repository, "no spare buffer")
    folder, failed = ci.pipeline("spare", pull_request=True)
    assert failed == {"build": 0, "measure": 0, "judge": 0, "comment": 0}, ci.log
    comments = load(ci.comments)
    assert len(comments) == 2 and comments[1]["body"].startswith(f"{MARKER}\n## nothing to do\n")

    team_project.sh("git checkout --quiet main", ci.repository)
    folder, failed = ci.pipeline("main", pull_request=False)
    assert failed == {"build": 0, "measure": 0, "judge": 0, "pages": 0}, ci.log
    assert ci.steps - ci.steps_run == set(), "steps that this test does not run"


@pytest.mark.parametrize("system", [GitHub, GitLab])
def test_a_pull_request_that_is_only_slower_fails_where_a_device_for_times_is_named(system, tmp_path):
    """Runs the job `times` without its requirement of a GPU, which is not present here."""
    ci = system(tmp_path)
    for name in (".github/workflows/nightly.yml", ".gitlab-ci.yml"):
        (ci.repository / name).unlink()
    team_project.sh(f"peakmark init ci --suite scale.toml --require gpu --wheel {ci.wheel}", ci.repository)
    base = team_project.commit(ci.repository, "works")
    if system is GitHub:
        job = yaml.safe_load((ci.repository / ".github/workflows/nightly.yml").read_text())["jobs"]["times"]
        scripts = [step["run"] for step in job["steps"] if "run" in step and step["name"] != "Summary"]
        variables = {"PEAKMARK_WHEEL": str(ci.wheel), **job["env"]}
    else:
        job = merged(yaml.safe_load((ci.repository / ".gitlab-ci.yml").read_text()), "times")
        assert [rule["if"] for rule in job["rules"]] == ['$CI_PIPELINE_SOURCE == "merge_request_event"']
        variables = {name: str(value) for name, value in job["variables"].items()}
        scripts, variables = job["script"], variables | {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
    assert any("compare scale.toml --require gpu --commits" in script for script in scripts)
    scripts = [script.replace(" --require gpu", " --filter nx:4096") for script in scripts]
    worker = ci.repository / "scale.cpp"
    works = worker.read_text()
    slow = works.replace("out[get_global_id(0)] = 2", "for (int i = 0; i < 200; ++i) out[get_global_id(0)] = i * 2; out[get_global_id(0)] = 2").replace(
        "global float* out", "global volatile float* out"
    )
    assert slow.count("volatile") == 1 and slow.count("i < 200") == 1
    for branch, text, code in (("slower", slow, 1), ("same", works + "// the same\n", 0)):
        team_project.sh(f"git checkout --quiet -b {branch} {base}", ci.repository)
        worker.write_text(text)
        team_project.commit(ci.repository, branch)
        folder = ci.new_job()
        ci.check_out(branch, folder, 2 if system is GitHub else 0)
        assert ci.run("\n".join(scripts), folder, variables) == code, ci.log
        summary = (folder / "build/times.md").read_text()
        assert ("slower" in summary.partition("\n")[0] or "1 of 1 case regressed" in summary) == (code == 1), summary
        runs = [load(folder / f"build/times.{side}.json")["context"]["peakmark"] for side in ("base", "new")]
        assert runs[0]["rounds"]["job"] == runs[1]["rounds"]["job"], "interleaved"


def test_a_missing_shard_is_named_and_the_others_are_judged(tmp_path):
    ci = GitHub(tmp_path)
    team_project.commit(ci.repository, "works")
    ci.runs_as_root, ci.has_python_packages = False, True
    folder, failed = ci.pipeline("main", pull_request=False, lost_shard=2)
    assert (failed["build"], failed["measure"], failed["judge"]) == (0, 1, 1), ci.log
    assert "shard 2 of 2 is missing" in ci.log
    assert f"--- {folder.name}: Summary" in ci.log
    assert ci.failed_steps == ["Judge"], "the other shard is kept and reported"
    assert ci.summary(folder).exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("init ci", "no suite; name it with --suite"),
        ("init ci --suite none.toml", "--suite none.toml: no such file"),
        ("init ci --suite /none.toml", "an absolute path"),
        ("init opencl --shards 2", "--shards: changes nothing here: it takes effect only with ci"),
    ],
)
def test_wrong_use_writes_nothing(words, message, tmp_path):
    ended = subprocess.run([team_project.PEAKMARK, *words.split()], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("wheel", ["a'b", 'a"b', "$(a)", "a\nb"])
def test_a_wheel_that_would_end_a_string_is_refused(wheel, tmp_path):
    (tmp_path / "scale.toml").write_text(SUITE)
    ended = subprocess.run(
        [team_project.PEAKMARK, "init", "ci", "--suite", "scale.toml", "--wheel", wheel], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert "has a quote, backslash, dollar or line break; write what follows `pip install`" in ended.stderr
    assert os.listdir(tmp_path) == ["scale.toml"]
