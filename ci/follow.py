"""Executes documentation and workflows as they are written, in a folder.

    follow.py page PAGE FOLDER                   a page of the documentation
    follow.py workflow WORKFLOW FOLDER [STEP…]   named steps of a GitHub workflow

Page: if the line before a block ends with a file name in backticks and a colon, the block becomes that file. Blocks marked
`sh` or `console` run in one shell. In a block marked `sh` the first command that fails ends the shell. A block marked `console`
has commands after `$ `, which a backslash continues on the next line, and below each what it prints, word for word: `…` stands
for any text, and alone on a line for any lines. A command may fail only if the next one is `echo $?`. Other blocks are ignored.

Workflow: the file must be a valid workflow: jobs of steps, each with either `run` or `uses`, and unique names. A step gets the
`env` of its job; `env` elsewhere is an error.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
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


def commands(block: str) -> list[tuple[str, str]]:
    """Returns the commands of a console block, and what each prints."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line}", "")
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line.rstrip() + "\n")
    return found


def is_as_printed(shown: str, printed: str) -> bool:
    pattern = "".join(
        r"(?:.*\n)*?" if line == "…" else ".*".join(re.escape(part) for part in line.split("…")) + r"\n"
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed.splitlines())) is not None


def follow_page(page: Path, folder: Path) -> int:
    script = "exec 9>&2\nBASH_XTRACEFD=9\nset -ux\n"  # the trace is no output of a command
    shown: list[tuple[str, str]] = []
    with tempfile.TemporaryDirectory() as outputs:
        for language, before, text in blocks(page.read_text(encoding="utf-8")):
            name = FILE_NAME.search(before)
            if language == "sh":
                script += f"set -e\n{text}set +e\n"
            elif language == "console":
                block = commands(text)
                for index, (command, expected) in enumerate(block):
                    script += f"{{ {command}\n}} >{outputs}/{len(shown)} 2>&1\n"
                    if index + 1 == len(block) or block[index + 1][0] != "echo $?":
                        script += f"code=$?; [ $code = 0 ] || {{ cat {outputs}/{len(shown)}; exit $code; }}\n"
                    shown.append((command, expected))
            elif name:
                (folder / name.group(1)).write_text(text, encoding="utf-8")
        if code := subprocess.run(["bash", "-c", script], cwd=folder, check=False).returncode:
            return code
        for index, (command, expected) in enumerate(shown):
            printed = (Path(outputs) / str(index)).read_text(encoding="utf-8")
            if not is_as_printed(expected, printed):
                print(f"{page}: $ {command}\nthe page shows:\n{expected}\nit prints:\n{printed}", file=sys.stderr)
                return 1
    return 0


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
