"""Executes documentation and workflows as they are written, in a folder.

    follow.py page PAGE FOLDER                   a page of the documentation
    follow.py workflow WORKFLOW FOLDER [STEP…]   named steps of a GitHub workflow

Page: if the line before a block ends with a file name in backticks and a colon, the block becomes that file. Blocks marked
`sh` run in one shell, which ends at the first command that fails. Other blocks are ignored.

Workflow: the file must be a valid workflow: jobs of steps, each with either `run` or `uses`, and unique names. A step gets the
`env` of its job; `env` elsewhere is an error.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_NAME = re.compile(r"`([\w.-]+)`:$")


def blocks(page: str) -> Iterator[tuple[str, str, str]]:
    """Yields language, preceding line of text, and text of each fenced block."""
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


def follow_page(page: Path, folder: Path) -> int:
    script = "set -eux\n"
    for language, before, text in blocks(page.read_text(encoding="utf-8")):
        name = FILE_NAME.search(before)
        if language == "sh":
            script += text
        elif name:
            (folder / name.group(1)).write_text(text, encoding="utf-8")
    return subprocess.run(["bash", "-c", script], cwd=folder, check=False).returncode


def workflow_steps(workflow: Path) -> dict[str, tuple[str, dict[str, str]]]:
    """Returns the commands of each named step and the variables of its job. Exits if the workflow is invalid."""
    import yaml

    text = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    if True not in text:  # YAML reads `on` as true
        sys.exit(f"{workflow}: key `on` is missing")
    if "env" in text:
        sys.exit(f"{workflow}: `env` is supported in jobs only")
    commands: dict[str, tuple[str, dict[str, str]]] = {}
    for job in text["jobs"].values():
        if "runs-on" not in job:
            sys.exit(f"{workflow}: key `runs-on` is missing in a job")
        variables = {name: str(value) for name, value in job.get("env", {}).items()}
        for step in job["steps"]:
            if "env" in step:
                sys.exit(f"{workflow}: `env` is supported in jobs only: {step}")
            if ("run" in step) == ("uses" in step):
                sys.exit(f"{workflow}: a step needs either `run` or `uses`: {step}")
            if "run" in step and step.get("name"):
                if step["name"] in commands:
                    sys.exit(f"{workflow}: duplicate step name: {step['name']}")
                commands[step["name"]] = (step["run"], variables)
    return commands


def follow_workflow(workflow: Path, folder: Path, names: list[str]) -> int:
    steps = workflow_steps(workflow)
    for name in names:
        if name not in steps:
            sys.exit(f"{workflow}: unknown step '{name}'; it has {', '.join(steps)}")
        run, variables = steps[name]
        if code := subprocess.run(["sh", "-euxc", run], cwd=folder, env=os.environ | variables, check=False).returncode:
            return code
    return 0


def main() -> int:
    kind, *arguments = sys.argv[1:] or [""]
    if kind == "page" and len(arguments) == 2:
        return follow_page(Path(arguments[0]), Path(arguments[1]))
    if kind == "workflow" and len(arguments) >= 2:
        return follow_workflow(Path(arguments[0]).resolve(), Path(arguments[1]), arguments[2:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
