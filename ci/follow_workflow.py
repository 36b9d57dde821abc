"""Does steps of a workflow of GitHub's, as they are written, in a folder: `follow_workflow.py WORKFLOW FOLDER STEP…`.

The whole file must be a workflow: jobs of steps, each with `run` or `uses`, none of them twice under one name.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml


def steps_of(workflow: Path) -> dict[str, str]:
    """The commands of each named step."""
    text = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    if True not in text:  # YAML reads `on` as true
        sys.exit(f"{workflow}: it says not when it runs: `on`")
    commands: dict[str, str] = {}
    for job in text["jobs"].values():
        if "runs-on" not in job:
            sys.exit(f"{workflow}: a job says not where it runs: `runs-on`")
        for step in job["steps"]:
            if ("run" in step) == ("uses" in step):
                sys.exit(f"{workflow}: a step has not either `run` or `uses`: {step}")
            if "run" in step and step.get("name"):
                if step["name"] in commands:
                    sys.exit(f"{workflow}: two steps are called {step['name']}")
                commands[step["name"]] = step["run"]
    return commands


def main() -> int:
    workflow, folder, names = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3:]
    steps = steps_of(workflow)
    for name in names:
        if name not in steps:
            sys.exit(f"{workflow}: no step '{name}'; it has {', '.join(steps)}")
        if code := subprocess.run(["sh", "-euxc", steps[name]], cwd=folder, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
