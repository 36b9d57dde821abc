"""Finds the largest argument of a function whose device memory fits a budget: `peakmark.fit`."""

from __future__ import annotations

import json
import pathlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from peakmark.function_file import FunctionError, FunctionFile
from peakmark.recorders import RecorderError, run_peakmark
from peakmark.sizes import exact_size, quantity

_CLEAN, _NOTHING_FITS, _NO_RECORDER = 0, 1, 5


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
    name = axis.partition("=")[0]
    try:
        prepared = FunctionFile(function, [name])
    except FunctionError as error:
        raise FitError(f"peakmark.fit: {error}") from None
    options = [f"--budget={budget}"] + ([f"--multiple-of={multiple_of}"] if multiple_of != 1 else [])
    given = (("max-allocation", max_allocation), ("timeout", timeout), ("backend", backend), ("device", device))
    options += [f"--{key}={value}" for key, value in given if value is not None]
    options += ["--prove"] if prove else []
    with tempfile.TemporaryDirectory(prefix="peakmark-fit-") as folder:
        trial = prepared.write(pathlib.Path(folder))
        answer, errors, exit_code = run_peakmark(["fit", axis, *options, "--json", "--", *trial])
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
