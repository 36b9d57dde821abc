"""Measures a function at each combination of values of its arguments: `peakmark.run`."""

from __future__ import annotations

import base64
import html
import inspect
import itertools
import json
import math
import operator
import os
import pathlib
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from peakmark.function_file import FunctionError, FunctionFile
from peakmark.memory_library import RecorderError
from peakmark.recorders import run_peakmark
from peakmark.runs import RunError, load, plot_memory
from peakmark.sizes import format_size, quantity

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

#: Each case runs in several processes, so that more take hours.
MAX_CASES = 10_000
_MAX_ROWS = 60
# A run file is written, also if some or all cases failed.
_MEASURED = (0, 3, 4)
_NO_RECORDER = 5


class FunctionRun:
    """The cases of `peakmark.run`. A notebook shows a table and a plot of them."""

    def __init__(self, name: str, frame: pandas.DataFrame):
        self.name = name
        #: One row per case, as `peakmark.load` returns them.
        self.frame = frame

    def plot(self) -> Figure:
        """Returns the plot of memory and time against the axes. Raises RunError if too few cases were measured."""
        return plot_memory(self.frame)

    @property
    def measured(self) -> int:
        """The number of cases with outcome `ok`."""
        return int((self.frame["outcome"] == "ok").sum()) if len(self.frame) else 0

    @property
    def _summary(self) -> str:
        device = self.frame.attrs["peakmark"].get("device") or "no device"
        return f"{self.name}: {self.measured} of {quantity(len(self.frame), 'case')} measured on {device}"

    def __repr__(self) -> str:
        reasons = [] if self.measured else [text for text in self.frame["message"] if isinstance(text, str) and text]
        return f"<FunctionRun {self._summary}{': ' + reasons[0][:300] if reasons else ''}>"

    def _repr_html_(self) -> str:
        try:
            picture = base64.b64encode(self.plot()._repr_png_()).decode("ascii")  # type: ignore[attr-defined]
            drawn = f'<img alt="Memory and time of {html.escape(self.name)} against its axes" src="data:image/png;base64,{picture}">'
        except RunError as error:
            drawn = f"<p>No plot: {html.escape(str(error))}</p>"
        return f"<div><b>{html.escape(self._summary)}</b>{self._table()}{drawn}</div>"

    def _table(self) -> str:
        axes = [column for column in self.frame.columns if column.startswith("axis:")]
        metrics = [column for column in self.frame.columns if column.startswith("metric:")]
        shown = self.frame[[*axes, "peak", "time", *metrics, "outcome", "message"]].copy()
        shown["peak"] = [_text(value, format_size) for value in shown["peak"]]
        shown["time"] = [_text(value, lambda nanoseconds: f"{nanoseconds / 1e6:.4g} ms") for value in shown["time"]]
        shown["message"] = ["" if not isinstance(value, str) else value[:300] for value in shown["message"]]
        if not shown["message"].any():
            del shown["message"]
        return str(shown.rename(columns={name: name.partition(":")[2] for name in (*axes, *metrics)}).to_html(index=False, max_rows=_MAX_ROWS))


def _text(value: Any, write: Callable[[Any], str]) -> str:
    return "–" if value is None or math.isnan(value) else write(int(value))


def run(
    function: Callable[..., object],
    axes: Mapping[str, Any],
    *,
    marked: bool = False,
    memory_only: bool = False,
    output: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    backend: str | None = None,
    device: str | int | None = None,
) -> FunctionRun:
    """Measures memory and time of `function` at each combination of values of its arguments.

    `axes` has one value or several values for each argument: integers, floats, words, or dtypes, which the function gets by name,
    such as `{"n": [256, 512], "sigma": 1.5, "dtype": "float32"}`. Each case runs in its own processes, so a case that
    crashes or runs out of memory ends neither the others nor this process. Each call is the phase `call`, with everything that
    it does; with `marked=True` the function marks its phases itself (`inputs`, `call`, …).

    The processes import the function, as with multiprocessing, so the call of `run` must be below `if __name__ == "__main__":`.
    Functions of notebooks, and lambdas, need the package cloudpickle. `output` is the run file to keep, for `peakmark check`,
    `compare` and `report`. `memory_only`, `timeout` (seconds of a case), `backend` and `device` are the options of `peakmark
    run`. Raises RunError for wrong arguments, and NoRecorder or RecorderError if nothing can be recorded.
    """
    try:
        words = _words_of_axes(axes)
        # A float axis gives the function the number in the case's name, as an axis of integers does.
        values = {name: found for name, found in words.items() if not _are_numbers(found.values(), int, float)}
        prepared = FunctionFile(function, list(words), values, is_call=not marked)
        _check_that_all_have_values(function, words)
    except FunctionError as error:
        raise RunError(f"peakmark.run: {error}") from None
    name = re.sub(r"[^A-Za-z0-9_.+-]+", "-", _name_of(function)).strip("-") or "function"
    given = (("timeout", timeout), ("backend", backend), ("device", device))
    options = [f"--{key}={value}" for key, value in given if value is not None] + (["--memory-only"] if memory_only else [])
    with tempfile.TemporaryDirectory(prefix="peakmark-function-") as folder:
        suite = pathlib.Path(folder) / "suite.toml"
        suite.write_text(_suite(name, prepared.write(pathlib.Path(folder)), words, values), encoding="utf-8")
        file = pathlib.Path(folder) / "run.json" if output is None else pathlib.Path(output)
        _, errors, exit_code = run_peakmark(["run", str(suite), f"--output={file}", *options])
        if exit_code == _NO_RECORDER:
            raise RecorderError(errors)
        if exit_code not in _MEASURED or not file.is_file():
            raise RunError(f"peakmark.run: {_message(errors) or f'peakmark run ended with exit code {exit_code}'}")
        frame = load(file)
    return FunctionRun(name, frame)


def _are_numbers(values: Iterable[Any], *types: type) -> bool:
    return all(type(value) in types for value in values)


def _message(errors: str) -> str:
    """Returns the last message of the command; the lines before it are about the device and the progress."""
    return re.split(r"^peakmark(?: run)?: ", errors, flags=re.MULTILINE)[-1].partition("\nSee: ")[0]


def _name_of(function: Callable[..., object]) -> str:
    return str(getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", "function"))


def _words_of_axes(axes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the values of each axis by the words that name them in cases. Raises FunctionError."""
    if not isinstance(axes, Mapping) or not axes:
        raise FunctionError(f'axes must have the values of one argument or more, such as {{"n": [256, 512]}}; they are {axes!r}')
    cases = 1
    found = {}
    for axis, given in axes.items():
        if isinstance(given, Mapping):
            raise FunctionError(f"axis '{axis}': {given!r} is a mapping: write a list of values")
        is_one = isinstance(given, (str, bytes, type)) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0
        values = (given,) if is_one else given
        # Not a list of all values: a range may have a billion.
        chosen = list(itertools.islice(values, MAX_CASES + 1))
        cases *= len(chosen)
        if not chosen:
            raise FunctionError(f"axis '{axis}' has no values: name one or more")
        if cases > MAX_CASES:
            raise FunctionError(f"more than {MAX_CASES:,} cases: choose fewer values of axis '{axis}', or measure in several runs")
        words: dict[str, Any] = {}
        named = [_word(axis, value) for value in chosen]
        if _are_numbers((plain for _, plain in named), int, float) and not _are_numbers((plain for _, plain in named), int):
            named = [_word(axis, float(plain)) for _, plain in named]
        for word, plain in named:
            if word in words:
                raise FunctionError(f"axis '{axis}' has {word} twice: name each value once")
            words[word] = plain
        found[axis] = words
    return found


def _word(axis: str, value: Any) -> tuple[str, Any]:
    """Returns the word for a value, and the value that the function gets. Raises FunctionError."""
    if isinstance(value, bool):
        return str(value), value
    if isinstance(value, str):
        if not re.fullmatch(r"[^\s/:]+", value):
            raise FunctionError(f"axis '{axis}': {value!r} cannot be part of a case name: use a word without blanks, '/' and ':'")
        return value, value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise FunctionError(f"axis '{axis}': {value} is not a finite number")
        return repr(float(value)), float(value)
    try:
        whole = operator.index(value)
    except TypeError:
        # numpy.float32 is a class, numpy.dtype("float32") an object with a name. Both have the size of an element, which
        # members of an enumeration and paths, which have names too, do not have.
        name = value.__name__ if isinstance(value, type) else getattr(value, "name", None)
        is_dtype = hasattr(value, "itemsize") or (isinstance(value, type) and value in (bool, int, float, complex))
        if isinstance(name, str) and is_dtype:
            return _word(axis, name)
        if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
            return _word(axis, value.item())
        raise FunctionError(f"axis '{axis}': {value!r} is not an integer, a float, a word or a dtype") from None
    if not -(2**63) <= whole < 2**63:
        raise FunctionError(f"axis '{axis}': {whole} does not fit 64 bits")
    return str(whole), whole


def _check_that_all_have_values(function: Callable[..., object], axes: Iterable[str]) -> None:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    for one in parameters:
        is_needed = one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if is_needed and one.name not in axes:
            raise FunctionError(f"argument '{one.name}' of {_name_of(function)} has no value: add it to axes")


def _suite(name: str, command: Sequence[str], axes: Mapping[str, Mapping[str, Any]], words: Mapping[str, Any]) -> str:
    """Returns a suite of one program. Its `words` are axes of words."""

    def toml(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # a JSON string is one of TOML

    # A brace begins a placeholder; those of the arguments are the last words.
    program, arguments = command[: -len(axes)], command[-len(axes) :]
    escaped = [word.replace("{", "{{").replace("}", "}}") for word in program]
    lines = ["[[program]]", f'variant = "{name}/python"', f"command = {toml([*escaped, *arguments])}"]
    for axis, values in axes.items():
        every = list(values) if axis in words else list(values.values())
        limits = f", choices = {toml(every)}" if axis in words else ""
        if axis not in words and _are_numbers(every, int):
            limits = f", min = {min(0, *every)}"  # by default 0
        lines.append(f"axes.{toml(axis)} = {{ default = {toml(every[0])}{limits} }}")
    lines += ["[[sweep]]", f'variants = "{name}/python"']
    for axis, values in axes.items():
        lines.append(f"axes.{toml(axis)} = {toml(list(values) if axis in words else list(values.values()))}")
    return "\n".join([f"name = {toml(name)}", *lines, ""])
