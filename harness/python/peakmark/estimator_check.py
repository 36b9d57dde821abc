"""Compares an estimator of device memory with a recorded peak, by the rules of `peakmark check`."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from peakmark.recorders import environment_without_recorders
from peakmark.sizes import exact_size, quantity

FORMS = ("documented", "direct", "module", "iterative")
#: With fewer slices, one slice is wider than the window: then only bytes are judged.
MIN_SLICES = 5
DEFAULT_WINDOW = (0.8, 1.0)
DEFAULT_SECONDS = 60.0
# The working folder is not on the path while Python's own modules are imported: a json.py in it must not replace one.
_START = """import sys
sys.path[:] = [path for path in sys.path if path not in ("", ".")]
installed = (at for at, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages")))
sys.path.insert(next(installed, len(sys.path)), sys.argv.pop(1))
from peakmark.estimators import main
main()
"""


@dataclass(frozen=True)
class EstimatorQuestion:
    """`function` is `package.module:function`; `dimensions` are those of the input without the slices, in its order."""

    function: str
    form: str
    slices: int
    slice_axis: int
    dimensions: tuple[int, ...]
    dtype: str
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float = DEFAULT_SECONDS


@dataclass(frozen=True)
class Answer:
    """Unknown values are None; then `error` has the reason, and begins with its name."""

    slices: int | None
    bytes: int | None
    error: str | None


def _run_group(
    command: list[str], text: str, environment: dict[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Runs a program like subprocess.run, and kills its process group at the time limit: also the processes that it started."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
        start_new_session=True,
    ) as program:
        try:
            output, errors = program.communicate(text, timeout=seconds)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, program.returncode, output, errors)


def ask(question: EstimatorQuestion, available_bytes: int) -> Answer:
    """Asks the estimator in its own process, which cannot block this one or use memory of its device."""
    asked = {
        "function": question.function,
        "form": question.form,
        "slice_dimension": question.slice_axis,
        "other_dimensions": list(question.dimensions),
        "dtype": question.dtype,
        "parameters": question.parameters,
        "available_bytes": available_bytes,
        "slices": question.slices,
    }
    # The child can import what this process can. '' is the working folder.
    folders = [f"--path={path or os.getcwd()}" for path in sys.path]
    command = [sys.executable, "-c", _START, str(pathlib.Path(__file__).resolve().parents[1]), *folders]
    try:
        line = json.dumps(asked)
    except TypeError as error:
        return Answer(None, None, f"wrong_type: parameters are numbers and texts: {error}")
    try:
        run = _run_group(command, line + "\n", environment_without_recorders(), question.seconds)
    except subprocess.TimeoutExpired:
        return Answer(None, None, f"no_answer_in_time: not within {question.seconds:g} s, in which it was to be imported "
                                  "and asked; make it faster, or give seconds= more")  # fmt: skip
    try:
        answer = json.loads(run.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = (run.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Answer(None, None, f"died: exit code {run.returncode}: {last}")
    return Answer(answer["slices"], answer["bytes"], answer["error"])


def problems_of(
    question: EstimatorQuestion, answer: Answer, peak_bytes: int, window: tuple[float, float] = DEFAULT_WINDOW
) -> list[str]:
    """Returns what is wrong with the answers for this peak, a message each; empty if both are in the window."""
    if answer.error is not None:
        return [f"the estimator {question.function} gave no answer: {answer.error}"]
    low, high = window
    bounds = f"the window is {low:g} to {high:g}"
    problems = []
    if question.slices >= MIN_SLICES:
        assert answer.slices is not None
        ratio = answer.slices / question.slices
        if not low <= ratio <= high:
            problems.append(
                f"the estimator {question.function} says that {quantity(answer.slices, 'slice fits', 'slices fit')} the recorded peak of "
                f"{exact_size(peak_bytes)}, which {question.slices} took: {ratio:.3f} of them, and {bounds}. "
                + (_TOO_LOW if ratio > high else _TOO_HIGH)
            )
    assert answer.bytes is not None
    if answer.bytes == 0:
        problems.append(f"the estimator {question.function} says that {quantity(question.slices, 'slice needs', 'slices need')} 0 bytes")
        return problems
    ratio = peak_bytes / answer.bytes
    if not low <= ratio <= high:
        problems.append(
            f"the estimator {question.function} says that {quantity(question.slices, 'slice needs', 'slices need')} {exact_size(answer.bytes)}, and "
            f"they took {exact_size(peak_bytes)}: {ratio:.3f} of it, and {bounds}. " + (_TOO_LOW if ratio > high else _TOO_HIGH)
        )
    return problems


_TOO_LOW = "It is too low: chunks made by it run out of memory"
_TOO_HIGH = "It is too high: chunks made by it waste the card"
