"""Compares an estimator of device memory with a recorded peak, by the rules of `peakmark check`."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any

from peakmark.recorders import environment_without_recorders
from peakmark.sizes import exact_size, quantity

#: With fewer slices, only bytes are judged, because one slice is more than the width of the window.
MIN_SLICES = 5
DEFAULT_WINDOW = (0.8, 1.0)
DEFAULT_SECONDS = 60.0
# Removes the working folder from the path while Python's own modules are imported, so that a json.py in it does not replace one.
_START = """import sys
sys.path[:] = [path for path in sys.path if path not in ("", ".")]
installed = (at for at, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages")))
sys.path.insert(next(installed, len(sys.path)), sys.argv.pop(1))
from peakmark.estimators import main
main()
"""


@dataclass(frozen=True)
class EstimatorQuestion:
    """`function` is `package.module:function`; `dimensions` are those of the input without the slice axis, in order."""

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
    """Values are None if they are unknown. Then `error` has the name of the error and the reason. `terms` are the named parts
    of the bytes, if the estimator names them. `warnings` are the texts of its `warnings.warn`."""

    slices: int | None
    bytes: int | None
    error: str | None
    terms: list[dict[str, Any]] | None = None
    warnings: tuple[str, ...] = ()


def _run_group(
    command: list[str], text: str, environment: dict[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Runs a program like subprocess.run. Kills the rest of its process group at its end and at the time limit. Its
    output goes to files, since a process that it leaves behind may keep a pipe open forever."""
    with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        asked.write(text)
        asked.seek(0)
        program = subprocess.Popen(
            command, stdin=asked, stdout=output, stderr=errors, env=environment, start_new_session=True
        )
        try:
            program.wait(seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        output.seek(0)
        errors.seek(0)
        texts = [file.read().decode(errors="replace") for file in (output, errors)]
    return subprocess.CompletedProcess(command, program.returncode, *texts)


def ask(question: EstimatorQuestion, available_bytes: int) -> Answer:
    """Calls the estimator in a separate process, so that it cannot block this one or use memory of its device."""
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
    # Gives the child the import path of this process. '' is the working folder.
    folders = [f"--path={path or os.getcwd()}" for path in sys.path]
    command = [sys.executable, "-c", _START, str(pathlib.Path(__file__).resolve().parents[1]), *folders]
    try:
        line = json.dumps(asked)
    except TypeError as error:
        return Answer(None, None, f"wrong_type: {error}; parameters must be numbers, texts or lists of them")
    try:
        # Without the colours that Python 3.13 writes if FORCE_COLOR is set, since the last line becomes a message.
        environment = environment_without_recorders() | {"PYTHON_COLORS": "0"}
        run = _run_group(command, line + "\n", environment, question.seconds)
    except subprocess.TimeoutExpired:
        return Answer(
            None, None, f"no_answer_in_time: estimator '{question.function}' did not answer within {question.seconds:g} s; make it "
            "faster, or raise the limit with seconds="
        )  # fmt: skip
    try:
        answer = json.loads(run.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        last = (run.stderr.strip().splitlines() or ["no output"])[-1]
        return Answer(None, None, f"died: exit code {run.returncode}: {last}")
    return Answer(answer["slices"], answer["bytes"], answer["error"], answer["terms"], tuple(answer["warnings"]))


def find_problems(
    question: EstimatorQuestion, answer: Answer, peak_bytes: int, window: tuple[float, float] = DEFAULT_WINDOW
) -> list[str]:
    """Returns one message for each answer that is outside the window for this peak; empty if both are inside."""
    if answer.error is not None:
        return [f"estimator {question.function} failed: {answer.error}"]
    low, high = window
    slices = quantity(question.slices, "slice")

    def message(ratio: float, facts: str) -> str:
        level = "low" if ratio > high else "high"
        effect = "run out of memory" if ratio > high else "are smaller than necessary"
        return (
            f"estimate of {question.function} too {level}: {facts} (ratio {ratio:.3f}, window {low:g} to {high:g}). Chunks "
            f"sized by it {effect}"
        )

    problems = []
    if question.slices >= MIN_SLICES:
        assert answer.slices is not None
        ratio = answer.slices / question.slices
        if not low <= ratio <= high:
            predicted = quantity(answer.slices, "slice")
            used = "used all of it" if ratio > high else "fit"
            problems.append(message(ratio, f"predicts {predicted} in {exact_size(peak_bytes)}, but {slices} {used}"))
    assert answer.bytes is not None
    if answer.bytes == 0:
        problems.append(f"invalid estimate of {question.function}: 0 bytes for {slices}")
        return problems
    ratio = peak_bytes / answer.bytes
    if not low <= ratio <= high:
        problems.append(message(ratio, f"{exact_size(answer.bytes)} for {slices}, but {exact_size(peak_bytes)} are needed"))
    return problems
