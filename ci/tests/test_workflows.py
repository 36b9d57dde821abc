"""Checks the workflows that `peakmark init` writes, and this project's own, with zizmor and the schemas of GitHub and GitLab. No network.

zizmor's findings of every severity fail, also those of its persona `pedantic`, except for the two audits in ACCEPTED.
"""

import functools
import itertools
import json
import os
import re
import subprocess
import sysconfig
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
import yaml
from team_project import PEAKMARK, ROOT

ACCEPTED = {
    "unpinned-images": "a job on debian:12 gets the corrections of that release by apt, too; a digest would keep the faults of its day",
    "anonymous-definition": "the key of a job is its name",
}
WORKFLOWS = ".github/workflows"
OWN = sorted((ROOT / WORKFLOWS).glob("*.yml"))
HASH = "0123456789abcdef" * 4
WHEELS = ["", f"https://example.org/peakmark-0.1.0-py3-none-any.whl#sha256={HASH}", "--index-url https://example.org/simple peakmark==0.1.0"]
SUITES = ["scale.toml", "suites/it's an `odd` $(touch executed); #1 @WHEEL@ {{x}}.toml"]
CHOICES = [
    *itertools.product(["ci"], SUITES, ["", "gpu", "cuda"], [1, 4, 200], WHEELS),
    *((kind, "", "", 0, "") for kind in ("opencl", "cuda", "program")),
]


def init(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PEAKMARK, "init", *words], cwd=folder, capture_output=True, text=True, check=False)


def write(folder: Path, kind: str, suite: str, require: str, shards: int, wheel: str) -> None:
    folder.mkdir(parents=True)
    words = [kind]
    if kind == "ci":
        (folder / suite).parent.mkdir(exist_ok=True)
        (folder / suite).touch()
        words += ["--suite", suite, "--shards", str(shards), *(["--require", require] if require else []), *(["--wheel", wheel] if wheel else [])]
    written = init(folder, *words)
    assert (written.returncode, written.stderr) == (0, ""), written.stderr


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> list[Path]:
    """The folders with the files of all combinations of options."""
    top = tmp_path_factory.mktemp("written")
    folders = [top / str(number) for number in range(len(CHOICES))]
    for folder, choice in zip(folders, CHOICES, strict=True):
        write(folder, *choice)
    return folders


@functools.cache
def validator(name: str) -> jsonschema.protocols.Validator:
    schema = json.loads((resources.files("check_jsonschema") / f"builtin_schemas/vendor/{name}.json").read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


@functools.cache
def load(file: Path) -> dict:
    """Reads YAML 1.2 as GitHub and GitLab do: `on` is a word."""
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.yaml_implicit_resolvers = {
        letter: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:bool"]
        for letter, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))
    return yaml.load(file.read_text(encoding="utf-8"), loader)


def errors(file: Path) -> list[str]:
    kind = "github-workflows" if file.parent.name == "workflows" else "gitlab-ci"
    return [f"{file}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in validator(kind).iter_errors(load(file))]


def findings(*files: Path) -> list[str]:
    """Returns zizmor's findings."""
    ended = subprocess.run(
        [Path(sysconfig.get_path("scripts")) / "zizmor", "--offline", "--no-config", "--no-exit-codes", "--persona", "pedantic", "--format", "json", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return [
        f"{one['ident']}: {one['desc']}: {[place['symbolic']['key'] for place in one['locations']][:1]}"
        for one in json.loads(ended.stdout)
        if one["ident"] not in ACCEPTED
    ]


def files_of(folders: list[Path], pattern: str) -> list[Path]:
    return [file for folder in folders for file in folder.glob(pattern)]


def test_all_files_follow_the_schemas(written):
    files = [*files_of(written, f"{WORKFLOWS}/*.yml"), *files_of(written, ".gitlab-ci.yml")]
    assert len(files) == len(CHOICES) + sum(choice[0] == "ci" for choice in CHOICES)
    assert [error for file in [*files, *OWN] for error in errors(file)] == []


def test_zizmor_finds_nothing(written):
    assert findings(*OWN, *files_of(written, f"{WORKFLOWS}/*.yml")) == []


def test_the_checks_find_what_they_are_for(tmp_path):
    """Tests a workflow that has each mistake once."""
    folder = tmp_path / WORKFLOWS
    folder.mkdir(parents=True)
    (folder / "bad.yml").write_text(
        "on: pull_request_target\njobs:\n  a:\n    runs-on: ubuntu-latest\n    enviroment: x\n    steps:\n"
        "      - uses: actions/checkout@v5\n      - run: echo ${{ github.head_ref }}\n"
    )
    found = {one.split(":")[0] for one in findings(folder / "bad.yml")}
    assert {"unpinned-uses", "excessive-permissions", "dangerous-triggers", "template-injection", "artipacked"} <= found
    assert any("enviroment" in error for error in errors(folder / "bad.yml"))
    (tmp_path / ".gitlab-ci.yml").write_text("a:\n  script: true\n  artefacts: { paths: [b] }\n")
    assert errors(tmp_path / ".gitlab-ci.yml")


def test_an_action_has_one_version(written):
    """Actions are pinned in the written files, in our own and in the documentation, with the version in a comment."""
    texts = [file.read_text() for file in [*OWN, *files_of(written[-4:], f"{WORKFLOWS}/*.yml"), *ROOT.glob("docs/*.md"), ROOT / "README.md"]]
    used = {found for text in texts for found in re.findall(r"uses: actions/([a-z-]+)\S*@(.*)", text)}
    assert len(used) == len({name for name, _ in used}), used
    assert all(re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", version) for _, version in used), used
    assert {"checkout", "cache", "upload-artifact", "download-artifact", "upload-pages-artifact", "deploy-pages"} == {name for name, _ in used}


def steps(file: Path):
    for name, job in load(file)["jobs"].items():
        for step in job["steps"]:
            yield name, job, step


def test_what_no_tool_checks(written):
    """Tests secrets, runners, timeouts, artifacts and shell commands."""
    for file in [*OWN, *files_of(written, f"{WORKFLOWS}/*.yml")]:
        workflow = load(file)
        assert "secrets." not in json.dumps({key: value for key, value in workflow.items() if key != "jobs"}), file
        assert workflow["permissions"] == {"contents": "read"}, file
        for name, job, step in steps(file):
            outside = {key: value for key, value in job.items() if key != "steps"}
            assert "secrets." not in json.dumps(outside), f"{file}: a secret of the job {name}"
            assert job["timeout-minutes"] <= 120
            assert "${{" not in step.get("run", ""), f"{file}: {name}: an expression in a script"
            used, options = step.get("uses", ""), step.get("with", {})
            assert not used or re.fullmatch(r"actions/[a-z/-]+@[0-9a-f]{40}", used), used
            if "/checkout@" in used:
                assert options["persist-credentials"] is False
            if "/upload-artifact@" in used:
                assert 1 <= options["retention-days"] <= 30
            if "/cache/" in used:
                assert "history" in options["key"]
        if "pull_request" in workflow["on"]:
            own = {name for name, job in workflow["jobs"].items() if "self-hosted" in job["runs-on"]}
            first = {name for name in own if "needs" not in workflow["jobs"][name]}
            for name in first:
                assert "github.event.pull_request.head.repo.full_name == github.repository" in workflow["jobs"][name]["if"]
            assert bool(own) == ("fork" in workflow["jobs"]), "a fork is not measured, and never green"


def test_a_fork_is_red_on_own_runners(written):
    for folder, (kind, _, require, _, _) in zip(written, CHOICES, strict=True):
        for file in folder.glob(f"{WORKFLOWS}/*.yml"):
            is_own = bool(require) or kind == "cuda"
            assert ("whoever may open a pull request could run code there" in file.read_text().lower()) == is_own
            if is_own:
                job = load(file)["jobs"]["fork"]
                ended = subprocess.run(["sh", "-ec", job["steps"][0]["run"]], capture_output=True, text=True, check=False)
                assert ended.returncode == 4 and ended.stderr.startswith("not measured: a pull request from a fork"), ended.stderr


def test_the_name_of_a_suite_is_data(written, tmp_path):
    """Each script that names the suite is executed, with a peakmark that prints its words."""
    (tmp_path / "build/peakmark/bin").mkdir(parents=True)
    for name in ("build/peakmark/bin/peakmark", "build/peakmark/bin/python"):
        (tmp_path / name).write_text('#!/bin/sh\nfor word; do printf "<%s>" "$word"; done\n')
        (tmp_path / name).chmod(0o755)
    (tmp_path / "build/built.tar").write_bytes(bytes(10240))
    suite = SUITES[1]
    scripts = set()
    for folder, choice in zip(written, CHOICES, strict=True):
        if choice[1] != suite:
            continue
        texts = [step["run"] for _, _, step in steps(next(folder.glob(f"{WORKFLOWS}/*.yml"))) if "run" in step]
        pipeline = load(folder / ".gitlab-ci.yml")
        texts += [line for job in pipeline.values() if isinstance(job, dict) for key in ("script", "after_script") for line in job.get(key, [])]
        scripts |= {text for text in texts if "odd" in text}
    assert len(scripts) >= 4
    for script in scripts:
        ended = subprocess.run(["sh", "-ec", script], cwd=tmp_path, capture_output=True, text=True, check=False,
                               env=os.environ | {"SHARD": "1", "HISTORY": "h", "CI_NODE_INDEX": "1"})  # fmt: skip
        assert f"<{suite}>" in ended.stdout, ended.stdout + ended.stderr
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        ("a\nb.toml", "has a line break, a control character or ${{"),
        ("a\x1bb.toml", "has a line break, a control character or ${{"),
        ("${{ github.token }}.toml", "has a line break, a control character or ${{"),
    ],
)
def test_a_suite_that_a_workflow_cannot_name_is_refused(suite, message, tmp_path):
    (tmp_path / suite).touch()
    refused = init(tmp_path, "ci", "--suite", suite)
    assert refused.returncode == 2 and message in refused.stderr, refused.stderr
    assert os.listdir(tmp_path) == [suite]


@pytest.mark.parametrize("is_worktree", [False, True])
def test_below_the_top_nothing_is_written(is_worktree, tmp_path):
    """GitHub and GitLab read their files only in the root of the repository."""
    if is_worktree:
        (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    else:
        (tmp_path / ".git").mkdir()
    folder = tmp_path / "sub dir"
    folder.mkdir()
    (folder / "scale.toml").touch()
    for words in (["--suite", "scale.toml"], ["--suite", "scale.toml", "--list"]):
        refused = init(folder, "ci", *words)
        assert refused.returncode == 2
        assert f"below the top of its repository: {tmp_path}; " in refused.stderr
        assert "Run `peakmark init ci` there, with --suite 'sub dir/scale.toml'" in refused.stderr
    assert os.listdir(folder) == ["scale.toml"]
    assert init(tmp_path, "ci", "--suite", "sub dir/scale.toml").returncode == 0
    (folder / "first").mkdir()
    first = init(folder / "first")
    assert first.returncode == 0
    assert f"note: GitHub ignores .github/workflows/peakmark.yml here: this folder is below the top of its repository, {tmp_path}" in first.stderr


@pytest.mark.parametrize(
    ("wheel", "missing"),
    [
        ("https://example.org/p.whl", "#sha256=HASH"),
        (f"https://example.org/p.whl#sha256={HASH}", None),
        ("--index-url https://example.org/simple peakmark", "==VERSION"),
        ("--index-url https://example.org/simple peakmark==0.1.0", None),
        ("git+https://example.org/peakmark", "@COMMIT with 40 digits"),
        ("git+https://ada@example.org/peakmark@main", "@COMMIT with 40 digits"),
        ("git+https://example.org/peakmark@" + HASH[:40], None),
        ("tools/peakmark.whl", None),
    ],
)
def test_a_wheel_that_is_not_pinned_is_a_note(wheel, missing, tmp_path):
    (tmp_path / "scale.toml").touch()
    written = init(tmp_path, "ci", "--suite", "scale.toml", "--wheel", wheel)
    assert written.returncode == 0
    assert (f"not pinned: whoever can replace that file decides what the jobs run; add {missing}\n" in written.stderr) == (missing is not None)
    assert bool(written.stderr) == (missing is not None)
