"""A Git repository of `peakmark init`, whose kernel can allocate more from some commit on."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEAKMARK = os.environ.get("PEAKMARK_COMMAND", str(ROOT / "build/prefix/bin/peakmark"))
PREFIX = Path(PEAKMARK).resolve().parents[1]
GROWN = '    (spare_ = device_.create<float>("spare", {nx_})).fill(0.0F);\n'
# Variables by which peakmark detects a CI job. The job that runs these tests is not a job of the project.
OF_CI = ("GITHUB_", "GITLAB_", "CI_", "JENKINS_", "PEAKMARK_HISTORY")


def environment() -> dict[str, str]:
    """Returns the variables of a user ada, outside of CI."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_CI) and name != "CI"}
    return kept | {
        "PATH": f"{PREFIX / 'bin'}:{os.environ['PATH']}", "POCL_MEMORY_LIMIT": "2", "CMAKE_GENERATOR": "Ninja",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
    }  # fmt: skip


def sh(script: str, folder: Path) -> str:
    ended = subprocess.run(["bash", "-euc", script], cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout.strip()


def grown(worker: str) -> str:
    """Returns the worker of `peakmark init` with one more allocation: a row of floats in `scale/plain`."""
    changed = worker.replace("in_, out_;\n", "in_, out_, spare_;\n").replace(
        "void set_up() override {\n", "void set_up() override {\n" + GROWN
    )
    assert changed.count("spare_") == 2
    return changed


def create(folder: Path, suite: str) -> None:
    """Makes the repository, without a commit."""
    folder.mkdir(exist_ok=True)
    sh("peakmark init >/dev/null && git init --quiet --initial-branch=main && echo build/ >.gitignore", folder)
    (folder / "scale.toml").write_text(suite, encoding="utf-8")


def commit(folder: Path, note: str) -> str:
    """Commits every file. Returns the id of the commit."""
    sh(f"git add -A && git commit --quiet --allow-empty -m '{note}'", folder)
    return sh("git rev-parse HEAD", folder)
