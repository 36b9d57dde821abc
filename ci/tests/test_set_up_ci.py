"""Executes docs/set-up-ci.md as it is written, with a real Slurm."""

import subprocess
import sys

import team_project

PAGE = team_project.ROOT / "docs/set-up-ci.md"


def test_the_page_is_followed_on_a_fresh_project(tmp_path, cluster):
    followed = subprocess.run(
        [sys.executable, team_project.ROOT / "ci/follow.py", "page", PAGE, tmp_path], text=True, capture_output=True, check=False,
        env=team_project.environment() | {
            "SLURM_CONF": cluster.environment["SLURM_CONF"], "PEAKMARK_PYTHON": sys.executable,
            "CMAKE_PREFIX_PATH": str(team_project.PREFIX),
        },
    )  # fmt: skip
    assert followed.returncode == 0, (followed.stdout + followed.stderr)[-6000:]
    for made in (".github/workflows/nightly.yml", "build/report/index.html", "build/junit.xml", "build/nightly.json"):
        assert (tmp_path / made).exists()
