"""Tests that follow.py executes pages as they are written."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLLOW = Path(__file__).resolve().parents[1] / "follow.py"
PAGE = """`numbers`:

```
1
2
3
```

```console
$ cat numbers
1
…
3
$ grep 4 numbers
$ echo $?
1
$ echo "took 3 s"
took … s
$ printf '%s and %s\\n' one \\
    two
one and two
```
"""


def follow(folder: Path, page: str) -> subprocess.CompletedProcess[str]:
    (folder / "page.md").write_text(page, encoding="utf-8")
    command = [sys.executable, str(FOLLOW), "page", str(folder / "page.md"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_page_that_shows_what_its_commands_print_is_right(tmp_path):
    followed = follow(tmp_path, PAGE)
    assert followed.returncode == 0, followed.stderr


@pytest.mark.parametrize(
    ("shown", "instead"), [("1\n…\n3", "1\n3"), ("1\n$ echo \"t", "0\n$ echo \"t"), ("took … s", "took … min")]
)
def test_another_output_is_an_error(tmp_path, shown, instead):
    assert shown in PAGE
    followed = follow(tmp_path, PAGE.replace(shown, instead))
    assert followed.returncode == 1
    assert "the page shows:" in followed.stderr


def test_a_command_that_fails_ends_the_page(tmp_path):
    assert follow(tmp_path, PAGE.replace("$ echo $?\n1\n", "")).returncode == 1
    assert follow(tmp_path, "```sh\nfalse\ntrue\n```\n").returncode == 1
