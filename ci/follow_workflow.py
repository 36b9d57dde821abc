"""Does steps of a workflow of GitHub's, as they are written, in a folder: `follow_workflow.py WORKFLOW FOLDER STEP…`.

The whole file must be a workflow: jobs of steps, each with `run` or `uses`, none of them twice under one name. A step has
its job's `env`; another one is refused.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml


def steps_of(workflow: Path) -> dict[str, tuple[str, dict[str, str]]]:
    """The commands of each named step, and the variables that its job sets."""
    text = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    if True not in text:  # YAML reads `on` as true
        sys.exit(f"{workflow}: it says not when it runs: `on`")
    if "env" in text:
        sys.exit(f"{workflow}: only a job's `env` is known here")
    commands: dict[str, tuple[str, dict[str, str]]] = {}
    for job in text["jobs"].values():
        if "runs-on" not in job:
            sys.exit(f"{workflow}: a job says not where it runs: `runs-on`")
        variables = {name: str(value) for name, value in job.get("env", {}).items()}
        for step in job["steps"]:
            if "env" in step:
                sys.exit(f"{workflow}: only a job's `env` is known here: {step}")
            if ("run" in step) == ("uses" in step):
                sys.exit(f"{workflow}: a step has not either `run` or `uses`: {step}")
            if "run" in step and step.get("name"):
                if step["name"] in commands:
                    sys.exit(f"{workflow}: two steps are called {step['name']}")
                commands[step["name"]] = (step["run"], variables)
    return commands


def main() -> int:
    workflow, folder, names = Path(sys.argv[1]).resolve(), Path(sys.argv[2]), sys.argv[3:]
    steps = steps_of(workflow)
    for name in names:
        if name not in steps:
            sys.exit(f"{workflow}: no step '{name}'; it has {', '.join(steps)}")
        run, variables = steps[name]
        if code := subprocess.run(["sh", "-euxc", run], cwd=folder, env=os.environ | variables, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
