"""Tests the output and the exit code of ci/nightly, with programs that do nothing instead of peakmark's."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[1]

PEAKMARK = """#!/bin/bash
echo "$*" >>called.txt
case "$1 $2" in
  "history create") [ ! -e create_fails ] || { echo "peakmark: no such folder" >&2; exit 2; } ;;
  "run "*) echo '{}' >build/nightly/run.json ;;
esac
"""
PYTHON = """#!/bin/bash
[ "$1" != -c ] || echo dry
"""
SETUP = """die() { echo "ci: $*" >&2; exit 2; }
say() { echo "ci: $*"; }
install_nightly() { :; }
"""


@pytest.fixture
def tree(tmp_path):
    """A checkout in which everything seems to be built already."""
    (tmp_path / "ci").mkdir()
    shutil.copy(CI / "nightly", tmp_path / "ci" / "nightly")
    (tmp_path / "ci" / "setup.sh").write_text(SETUP)
    programs = {"build/prefix/bin/peakmark": PEAKMARK, "build/venv/bin/python": PYTHON,
                "build/prefix/lib/peakmark/suite_verdicts": "#!/bin/bash\n"}  # fmt: skip
    for name, text in programs.items():
        program = tmp_path / name
        program.parent.mkdir(parents=True)
        program.write_text(text)
        program.chmod(0o755)
    return tmp_path


def nightly(tree, *options):
    ours = ("PEAKMARK_", "GITHUB_", "GITLAB_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    command = [tree / "ci" / "nightly", *options]
    ended = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    return ended, (tree / "called.txt").read_text().splitlines()


def test_a_history_that_exists_is_used_silently(tree):
    ended, called = nightly(tree)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert called[0] == "history create --history build/history.db"
    assert called[1].endswith("--confirm build/history.db")


def test_a_history_that_cannot_be_created_is_reported(tree):
    (tree / "create_fails").touch()
    ended, called = nightly(tree)
    assert "peakmark: no such folder" in ended.stderr
    assert "ci: cannot open or create the history" in ended.stderr
    assert called[1].endswith("--confirm build/history.db"), "run decides, and says so in its file"


def test_a_run_without_times_needs_no_history_before_it_measures(tree):
    (tree / "create_fails").touch()
    ended, called = nightly(tree, "--", "--memory-only")
    assert "neither opened" not in ended.stderr
    assert called[0].startswith("run "), called
