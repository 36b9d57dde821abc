"""Loads the recorders into this process. The loaders of OpenCL and CUDA do so at their first call."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence

from peakmark.installed_programs import find_peakmark
from peakmark.marks import loaded_recorders
from peakmark.memory_library import (
    CUDA_RECORDER,
    OPENCL_RECORDER,
    NoRecorder,
    RecorderError,
    RecorderTooLate,
    find_library,
    library_folders,
    request_recorders,
    require_recorders,
)
from peakmark.sizes import SizeError, parse_size

__all__ = [
    "CUDA_RECORDER", "OPENCL_RECORDER", "NoRecorder", "RecorderError", "RecorderTooLate", "environment_without_recorders",
    "find_library", "is_requested_here", "library_folders", "load", "parse_budget", "parse_limit", "require_recorders",
    "run_peakmark",
]  # fmt: skip

_VARIABLES = (
    "PEAKMARK_PROFILE", "OPENCL_LAYERS", "CUDA_INJECTION64_PATH", "PEAKMARK_SYNC", "PEAKMARK_STACKS", "PEAKMARK_BUDGET",
    "PEAKMARK_MAX_ALLOCATION",
)  # fmt: skip
_MAX_BUDGET = 2**48 - 1
_is_requested_here = False


def is_requested_here() -> bool:
    """Returns whether `load` requested the recorders, not `peakmark record`. If so, the profile is removed when the process ends."""
    return _is_requested_here


def load(
    *, sync: bool = False, stacks: bool = False, budget: int | str | None = None, max_allocation: int | str | None = None
) -> None:
    """Makes the loaders of this process load the recorders. Call it before the first call into OpenCL or CUDA.

    Does nothing in a process that is recorded already, by `peakmark record` or an earlier call. `sync` finishes a queue
    after each command, so that peaks repeat; `stacks` records call stacks; `budget`, such as "16 GiB" or "90%", is the memory that
    the process may use on each device; `max_allocation` is the largest allocation that it may make. The profile is in a
    temporary folder, and is removed when the process ends. Raises NoRecorder if no recorder is installed, and SizeError if a
    limit is not a size from 1 byte to 256 TiB.
    """
    global _is_requested_here
    budget_bytes = None if budget is None else parse_budget(budget)
    max_bytes = None if max_allocation is None else parse_limit(max_allocation)
    if _is_recorded() or loaded_recorders():
        return
    if max_bytes is not None:
        os.environ["PEAKMARK_MAX_ALLOCATION"] = str(max_bytes)
    if budget_bytes is not None:
        os.environ["PEAKMARK_BUDGET"] = str(budget_bytes)
    request_recorders(sync=sync, stacks=stacks)
    _is_requested_here = True


def parse_budget(budget: int | str) -> int:
    """Returns a budget in bytes: a size, `90%` of the device's memory, `free` or `free-1GiB`. Raises SizeError if it is not from 1 byte
    to 256 TiB, or if it is a share of an unknown memory size."""
    is_part = isinstance(budget, str) and (budget.endswith("%") or budget.startswith("free"))
    return _checked(budget, "a budget", _budget_of_device(str(budget)) if is_part else parse_size(budget))


def parse_limit(limit: int | str) -> int:
    """Returns a limit of one allocation in bytes. Raises SizeError if it is not from 1 byte to 256 TiB."""
    return _checked(limit, "a limit of one allocation", parse_size(limit))


def _checked(text: int | str, what: str, size_in_bytes: int) -> int:
    if not 1 <= size_in_bytes <= _MAX_BUDGET:
        raise SizeError(f"{text} is not {what}: it must be from 1 byte to 256 TiB")
    return size_in_bytes


def _budget_of_device(budget: str) -> int:
    try:
        answer, errors, _ = run_peakmark(["devices", "--json", f"--budget={budget}"])
    except NoRecorder as error:
        raise SizeError(f"{budget}: the command peakmark, which knows the devices, is not installed: write bytes") from error
    if not answer:
        raise SizeError(errors)
    devices = [one for one in json.loads(answer)["devices"] if one["backend"] != "dry"]
    budgets = {one["budget_bytes"] for one in devices}
    names = ", ".join(one["name"] for one in devices) or "no device"
    if not budgets or None in budgets:
        raise SizeError(f"{budget}: the memory of {names} is unknown: write bytes, such as 16GiB")
    if len(budgets) > 1:
        raise SizeError(f"{budget} is a different size on each of {names}: write bytes, such as 16GiB")
    return int(budgets.pop())


def _is_recorded() -> bool:
    return "PEAKMARK_PROFILE" in os.environ and (
        OPENCL_RECORDER in os.environ.get("OPENCL_LAYERS", "")
        or CUDA_RECORDER in os.environ.get("CUDA_INJECTION64_PATH", "")
    )


def run_peakmark(arguments: Sequence[str], seconds: float | None = None) -> tuple[str, str, int]:
    """Returns the output, the message and the exit code of the command. Ends it if this process is interrupted. Raises NoRecorder
    if it is not installed, and subprocess.TimeoutExpired if it has not ended after `seconds`."""
    program = find_peakmark()
    if program is None:
        raise NoRecorder("the command peakmark is not installed: install the wheel of peakmark, or add it to PATH")
    process = subprocess.Popen(
        [program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        encoding="utf-8", errors="replace", env=environment_without_recorders(),
    )  # fmt: skip
    try:
        answer, errors = process.communicate(timeout=seconds)
    except BaseException:
        process.send_signal(signal.SIGINT)  # the command then ends its trials
        process.communicate()
        raise
    return answer, errors.removeprefix("peakmark: ").strip(), process.returncode


def environment_without_recorders() -> dict[str, str]:
    """Returns the environment for a child process that must not be recorded."""
    return {name: value for name, value in os.environ.items() if name not in _VARIABLES}
