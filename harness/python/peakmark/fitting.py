"""Finds the largest argument of a function whose device memory fits a budget: `peakmark.fit`."""

from __future__ import annotations

import inspect
import json
import multiprocessing
import multiprocessing.spawn
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from peakmark.installed_programs import find_peakmark
from peakmark.recorders import NoRecorder, RecorderError, environment_without_recorders
from peakmark.sizes import exact_size, quantity

_TRIAL = pathlib.Path(__file__).resolve().parent / "fit_trial.py"
_CLEAN, _NOTHING_FITS, _NO_RECORDER = 0, 1, 5
#: What a trial needs to import the functions of the main module, as processes of multiprocessing do.
_MAIN_MODULE = ("sys_path", "sys_argv", "dir", "init_main_from_name", "init_main_from_path")


class FitError(RuntimeError):
    """The search failed: a wrong argument, or a trial that crashed, hung or was wrong. The message is that of `peakmark fit`,
    `exit_code` its exit code."""

    def __init__(self, message: str, exit_code: int = 2):
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True)
class FitTrial:
    """The result of a run at one value of the axis."""

    value: int
    recorded_bytes: int | None
    """The peak; None if an allocation was refused."""
    predicted_bytes: int | None
    outcome: str
    """`ok`, `out_of_memory`, …, as in run files."""
    message: str | None
    largest_allocation_bytes: int | None = None
    """The largest allocation; of a trial that was refused memory, the largest request that was refused."""


@dataclass(frozen=True)
class Fit:
    """The answer of `fit`; its attributes are keys of `peakmark fit --json`."""

    axis: str
    value: int | None
    """The largest value that ran within the budget; None if nothing fits."""
    budget_bytes: int
    predicted_bytes: int | None
    recorded_bytes: int | None
    """The peak of `value`."""
    trials: tuple[FitTrial, ...]
    out_of_memory: int
    """How many trials exceeded the budget."""
    proven: bool
    """True if the next value exceeds the budget, or is beyond the range."""
    device: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        trials = f"{quantity(len(self.trials), 'trial')}, {self.out_of_memory} out of memory"
        if self.value is None:
            return f"<Fit nothing fits: {self.axis} = {self.trials[0].value} exceeds {exact_size(self.budget_bytes)}, {trials}>"
        return f"<Fit {self.axis} = {self.value}, {exact_size(self.recorded_bytes or 0)} of {exact_size(self.budget_bytes)}, {trials}>"


def fit(
    function: Callable[..., object],
    axis: str,
    budget: int | str,
    *,
    max_allocation: int | str | None = None,
    multiple_of: int = 1,
    prove: bool = False,
    timeout: float | None = None,
    backend: str | None = None,
    device: str | int | None = None,
) -> Fit:
    """Returns the largest value of an argument with which `function` stays within a budget of device memory.

    `axis` is the name of the argument, `batch`, or with the values to try, `batch=32..4096` or `batch=1,2,4,8`. `budget` is a size such as
    `16GiB`, `90%` of the device's memory, or `free`. Each value runs in a new process, which calls `function(batch=value)`; the
    return value is ignored. The processes import the function, as with multiprocessing, so the call of `fit` must be below
    `if __name__ == "__main__":`. Functions of notebooks, and lambdas, need the package cloudpickle.

    `max_allocation`, `multiple_of`, `prove`, `timeout` (seconds of a trial), `backend` and `device` are the options of `peakmark fit`. Raises
    FitError, and NoRecorder or RecorderError if nothing can be recorded.
    """
    if getattr(multiprocessing.process.current_process(), "_inheriting", False):
        raise FitError("peakmark.fit: called while a trial imports the function; call it below `if __name__ == '__main__':`")
    name = axis.partition("=")[0]
    _check_argument(function, name)
    program = find_peakmark()
    if program is None:
        raise NoRecorder("the command peakmark is not installed: install the wheel of peakmark, or add it to PATH")
    options = [f"--budget={budget}"] + ([f"--multiple-of={multiple_of}"] if multiple_of != 1 else [])
    given = (("max-allocation", max_allocation), ("timeout", timeout), ("backend", backend), ("device", device))
    options += [f"--{key}={value}" for key, value in given if value is not None]
    options += ["--prove"] if prove else []
    with tempfile.TemporaryDirectory(prefix="peakmark-fit-") as folder:
        file = pathlib.Path(folder) / "function"
        file.write_bytes(_function_bytes(function))
        trial = [sys.executable, str(_TRIAL), str(file), name, f"{{{name}}}"]
        command = [program, "fit", axis, *options, "--json", "--", *trial]
        answer, errors, exit_code = _run(command)
    if exit_code == _NO_RECORDER:
        raise RecorderError(errors)
    found = json.loads(answer) if answer else {"notes": []}
    if exit_code not in (_CLEAN, _NOTHING_FITS):
        reasons = list(found["notes"])
        if found.get("reproduce"):  # a command with the file of the function, which is removed
            reasons.append(f"reproduce: call {getattr(function, '__name__', 'the function')}({name}={found['trials'][-1]['value']})")
        if found.get("value") is not None:
            reasons.append(f"the largest {name} that ran is {found['value']}, with {exact_size(found['recorded_bytes'])}")
        raise FitError("; ".join(reasons) or errors, exit_code)
    trials = tuple(FitTrial(**{key: one[key] for key in FitTrial.__annotations__ if key in one}) for one in found.pop("trials"))
    notes = tuple(found.pop("notes"))
    return Fit(trials=trials, notes=notes, **{key: found[key] for key in Fit.__annotations__ if key in found})


def _run(command: list[str]) -> tuple[str, str, int]:
    """Returns the output, the message and the exit code of the command. Ends it if this process is interrupted."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment_without_recorders()
    )
    try:
        answer, errors = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)  # the command then ends its trials
        process.communicate()
        raise
    return answer, errors.removeprefix("peakmark: ").strip(), process.returncode


def _check_argument(function: Callable[..., object], name: str) -> None:
    if not callable(function):
        raise FitError(f"peakmark.fit: not a function: {function!r}")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return  # a builtin: its call shows
    if not any(one.kind is one.VAR_KEYWORD or (one.name == name and one.kind is not one.POSITIONAL_ONLY) for one in parameters):
        raise FitError(f"peakmark.fit: {function!r} has no argument '{name}'; it has {', '.join(one.name for one in parameters) or 'none'}")


def _function_bytes(function: Callable[..., object]) -> bytes:
    """Returns the pickled function and the path of its main module, for fit_trial.py."""
    prepared = multiprocessing.spawn.get_preparation_data("peakmark.fit")
    main = {key: prepared[key] for key in _MAIN_MODULE if key in prepared}
    without_main = {key: value for key, value in main.items() if not key.startswith("init_main")}
    try:
        # pickle stores the name of a function and of its module, which a trial imports.
        pickled = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return pickle.dumps((without_main, _by_value(function)))
    if b"__main__" not in pickled:
        return pickle.dumps((without_main, pickled))
    if "init_main_from_name" in main or os.path.isfile(main.get("init_main_from_path", "")):
        return pickle.dumps((main, pickled))
    return pickle.dumps((without_main, _by_value(function)))  # of a notebook, or of a program on standard input


def _by_value(function: Callable[..., object]) -> bytes:
    try:
        import cloudpickle  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ModuleNotFoundError:
        raise FitError(
            f"peakmark.fit: {function!r} cannot be imported by another process: write it into a module, or run `pip install cloudpickle`"
        ) from None
    return bytes(cloudpickle.dumps(function))
