"""Finds the CUDA libraries and tools that peakmark opens at run time, in a toolkit or in pip packages."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

SANITIZER = "compute-sanitizer"
# Folders of a toolkit; a pip package has only `lib`.
LIBRARY_FOLDERS = ("lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64")
USUAL_ROOTS = ("usr/local/cuda", "usr/local/cuda-*", "usr/lib/cuda", "opt/cuda")
SANITIZER_FOLDERS = ("bin", "compute-sanitizer", "extras/compute-sanitizer")
PACKAGES_PROGRAM = "import json, sys; print(json.dumps([path for path in sys.path if path.endswith('-packages')]))"


@dataclass(frozen=True)
class Found:
    """`files` has the path of each name, or None; `folders` must be added to LD_LIBRARY_PATH."""

    files: dict[str, Path | None]
    folders: list[Path]
    searched: list[Path]


def output_of(command: list[str], environment: Mapping[str, str]) -> str:
    """Returns the output of a command; empty if it cannot be run, fails, or takes longer than 10 s."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, env=dict(environment))
        return answer.stdout.strip() if answer.returncode == 0 else ""
    return ""


def toolkit_roots(environment: Mapping[str, str]) -> list[Path]:
    roots = [Path(environment[name]) for name in ("CUDA_HOME", "CUDA_PATH") if environment.get(name)]
    if nvcc := shutil.which("nvcc", path=environment.get("PATH")):
        roots.append(Path(nvcc).resolve().parent.parent)
    return roots + [root for pattern in USUAL_ROOTS for root in sorted(Path("/").glob(pattern), reverse=True)]


def package_folders(environment: Mapping[str, str]) -> list[Path]:
    """Returns site-packages and dist-packages of this Python and of the `python3` in PATH."""
    pythons = [sys.executable, shutil.which("python3", path=environment.get("PATH"))]
    folders = []
    for python in dict.fromkeys(pythons):
        if not python:
            continue
        with contextlib.suppress(ValueError):
            folders += map(Path, json.loads(output_of([python, "-c", PACKAGES_PROGRAM], environment)))
    return folders


def wheel_roots(environment: Mapping[str, str]) -> list[Path]:
    """Returns nvidia/cu13, nvidia/cufft, nvidia/cuda_cupti, … of the pip packages."""
    return [root for folder in package_folders(environment) for root in sorted(folder.glob("nvidia/*")) if root.is_dir()]


def loader_folders(environment: Mapping[str, str]) -> list[Path]:
    """Returns the folders that the dynamic loader searches."""
    folders = [Path(path) for path in environment.get("LD_LIBRARY_PATH", "").split(":") if path]
    if ldconfig := shutil.which("ldconfig", path=environment.get("PATH", "") + ":/sbin:/usr/sbin"):
        listing = output_of([ldconfig, "-p"], environment)
        paths = [Path(line.split("=> ")[1].strip()) for line in listing.splitlines() if "=> " in line]
        folders += [path.parent for path in paths]
    return folders


def find(names: Iterable[str], environment: Mapping[str, str] = os.environ) -> Found:
    """Searches for libraries by file name (libcufft.so.12) and for compute-sanitizer."""
    known = _unique(loader_folders(environment))
    roots = _unique([*toolkit_roots(environment), *wheel_roots(environment)])
    others = [root / folder for root in roots for folder in LIBRARY_FOLDERS]
    files: dict[str, Path | None] = {}
    for name in names:
        files[name] = next((folder / name for folder in [*known, *others] if (folder / name).is_file()), None)
    sanitizer = shutil.which(SANITIZER, path=environment.get("PATH"))
    tools = [root / folder / SANITIZER for root in roots for folder in SANITIZER_FOLDERS]
    files[SANITIZER] = Path(sanitizer) if sanitizer else next((tool for tool in tools if os.access(tool, os.X_OK)), None)
    unknown = [path.parent for name, path in files.items() if path and name != SANITIZER and path.parent not in known]
    return Found(files, _unique(unknown), roots)


def _unique(paths: Iterable[Path]) -> list[Path]:
    return list(dict.fromkeys(paths))
