"""Follows a page of the documentation word by word, in a folder: `follow_page.py PAGE FOLDER`.

A block after a line that ends with a file's name in backticks and a colon becomes that file; blocks marked `sh` are run, all in
one shell, which ends at the first command that fails. Other blocks are for reading.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

NAMED = re.compile(r"`([\w.-]+)`:$")


def blocks(page: str):
    """(language, the line of text before it, its text) of each fenced block."""
    language, before, lines, last = None, "", [], ""
    for line in page.splitlines():
        if line.startswith("```"):
            if language is None:
                language, before, lines = line[3:].strip(), last, []
            else:
                yield language, before, "\n".join(lines) + "\n"
                language = None
        elif language is not None:
            lines.append(line)
        elif line.strip():
            last = line.strip()


def main() -> int:
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    script = "set -eux\n"
    for language, before, text in blocks(page.read_text(encoding="utf-8")):
        named = NAMED.search(before)
        if language == "sh":
            script += text
        elif named:
            (folder / named.group(1)).write_text(text, encoding="utf-8")
    return subprocess.run(["bash", "-c", script], cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
