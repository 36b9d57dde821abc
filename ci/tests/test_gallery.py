"""Executes docs/gallery.md. `python ci/tests/test_gallery.py` draws its pictures again."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from team_project import ROOT, environment

PAGE = ROOT / "docs/gallery.md"
MAX_PICTURE_BYTES = 60_000


def pictures() -> list[tuple[str, Path]]:
    """Returns each picture that a command of the page writes, and its file in docs/."""
    return [
        (written, PAGE.parent / shown)
        for written, shown in re.findall(r"^(\S+\.png)\n```\n\n!\[[^]]*\]\(([^)]*)\)", PAGE.read_text(encoding="utf-8"), re.M)
    ]


def follow(folder: Path) -> None:
    (folder / "suites").symlink_to(ROOT / "suites")
    command = [sys.executable, ROOT / "ci/follow.py", "page", PAGE, folder]
    ended = subprocess.run(command, env=environment() | {"PEAKMARK_PYTHON": sys.executable}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_commands_of_the_gallery_draw_its_pictures(tmp_path):
    follow(tmp_path)
    assert len(pictures()) == PAGE.read_text(encoding="utf-8").count("](pictures/") == 8
    for written, shown in pictures():
        with Image.open(tmp_path / written) as drawn, Image.open(shown) as kept:
            assert drawn.size == kept.size, f"{shown} is not what the command draws: run python {Path(__file__).name}"
        assert shown.stat().st_size < MAX_PICTURE_BYTES


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        follow(Path(name))
        for written, shown in pictures():
            Image.open(Path(name) / written).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(shown, optimize=True)
