"""Reads the marks of a test, and judges a window by them."""

from __future__ import annotations

import inspect
import math
import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from peakmark.estimator_check import (
    DEFAULT_SECONDS,
    DEFAULT_WINDOW,
    EstimatorQuestion,
    ask,
    find_problems,
)
from peakmark.estimators import FORMS
from peakmark.pytest_plugin.estimator_causes import estimate_result
from peakmark.repetitions import MIN_CALLS, Growth, Repetitions
from peakmark.sizes import SizeError, exact_size, format_size, parse_size
from peakmark.windows import Group, PoolUsage, Refused, Window

MARKS = {
    "limit_device_memory": (
        'limit_device_memory(size, **kinds): fail the test if its peak device memory is above a size such as "24 MB", or that of a '
        'kind of memory, such as host_pinned="0 B", above the size of the kind'
    ),
    "limit_device_leaks": (
        'limit_device_leaks(size, *, calls=1): fail the test if it leaks more device memory than a size such as "0 B"; with '
        "calls=8, run the test 8 times, and fail it if each time leaks more"
    ),
    # pytest takes the text before the first colon as the mark.
    "check_estimator": (
        'check_estimator(estimator, *, n, dimensions, slice_axis=0, form="documented", dtype="float32", data=None, '
        "parameters={}, arguments=(), window=(0.8, 1.0), seconds=60, of=None, everything=False): "
        'compare the estimator "package.module:function" with the peak of the test'
    ),
}

MAX_SECONDS = 86400  # a day


class MarkError(Exception):
    """A mark is invalid."""


@dataclass(frozen=True)
class Limits:
    """The limits from the marks of a test. Estimators are kept as marks until the arguments of the test are known."""

    peak_bytes: int | None
    left_bytes: int | None
    estimators: tuple[pytest.Mark, ...]
    kinds: Mapping[str, int] = field(default_factory=dict)  # limits of the peaks of kinds of memory
    calls: int = 1  # number of calls of the test; if it is above 1, `left_bytes` applies to each call

    def __bool__(self) -> bool:
        return self.peak_bytes is not None or self.left_bytes is not None or bool(self.estimators or self.kinds)


def read_limits(item: pytest.Item) -> Limits:
    """Returns the limits of a test: the closest mark of each size, with pytest.param first, and all estimators. Raises
    MarkError if a mark is invalid."""
    estimators = tuple(item.iter_markers("check_estimator"))
    for mark in estimators:
        _check_estimator_mark(mark)
    memory, leaks = _closest(item, "limit_device_memory"), _closest(item, "limit_device_leaks")
    kinds = {} if memory is None else {kind: _read_size(memory, size) for kind, size in memory.kwargs.items()}
    if unknown := sorted(set(kinds) - KINDS):
        raise MarkError(
            f"@pytest.mark.limit_device_memory: unknown kind of memory {unknown[0]!r}; known are {', '.join(sorted(KINDS))}"
        )
    return Limits(
        _read_only_size(memory, optional=bool(kinds)), _read_only_size(leaks), estimators, kinds, _read_calls(leaks, item)
    )


#: The names of docs/recording.md, "What is counted".
KINDS = frozenset(
    (
        "buffer", "image", "svm", "pipe", "alloc_host_ptr", "host_pointer", "gl_shared", "view", "device", "pitched",
        "pool_async", "array", "managed", "physical", "host_pinned", "host_mapped", "host_write_combined", "host_registered",
        "usm_device", "usm_shared", "usm_host", "module_globals",
    )
)  # fmt: skip


def _closest(item: pytest.Item, name: str) -> pytest.Mark | None:
    # For pytest, the marks of the function are closer than those of its parameters.
    of_parameters = getattr(getattr(item, "callspec", None), "marks", ())
    return next((one for one in of_parameters if one.name == name), None) or item.get_closest_marker(name)


def _read_only_size(mark: pytest.Mark | None, optional: bool = False) -> int | None:
    if mark is None or (optional and not mark.args):
        return None
    known = {"calls"} if mark.name == "limit_device_leaks" else KINDS
    if len(mark.args) != 1 or set(mark.kwargs) - known:
        raise MarkError(f'@pytest.mark.{mark.name}: wrong arguments; give one size, such as "24 MB"')
    return _read_size(mark, mark.args[0])


def _read_size(mark: pytest.Mark, size: Any) -> int:
    try:
        return parse_size(size)
    except SizeError as error:
        raise MarkError(f"@pytest.mark.{mark.name}: {error}") from error


def _read_calls(mark: pytest.Mark | None, item: pytest.Item) -> int:
    calls = 1 if mark is None else mark.kwargs.get("calls", 1)
    if calls == 1:
        return 1
    if not _is_whole(calls, MIN_CALLS):
        raise MarkError(f"@pytest.mark.limit_device_leaks: calls={calls!r}: write a number, {MIN_CALLS} or more")
    function = getattr(item, "obj", None)
    if function is None or inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise MarkError("@pytest.mark.limit_device_leaks: calls: only a test that is a plain function can be repeated")
    return int(calls.__index__())


_KEYS = frozenset(
    (
        "form", "n", "slice_axis", "dimensions", "dtype", "data", "parameters", "arguments", "window", "seconds", "of",
        "everything",
    )
)  # fmt: skip


def _check_estimator_mark(mark: pytest.Mark) -> None:
    def wrong(why: str) -> MarkError:
        return MarkError(f"@pytest.mark.check_estimator: {why}")

    if len(mark.args) != 1 or not isinstance(mark.args[0], str) or ":" not in mark.args[0]:
        raise wrong('wrong arguments; give one estimator as "package.module:function"')
    if unknown := sorted(set(mark.kwargs) - _KEYS):
        raise wrong(f"unknown argument {unknown[0]}; known are {', '.join(sorted(_KEYS))}")
    if (form := mark.kwargs.get("form", FORMS[0])) not in FORMS:
        raise wrong(f"unknown form {form!r}; known are {', '.join(FORMS)}")
    if "data" not in mark.kwargs and not {"n", "dimensions"} <= set(mark.kwargs):
        raise wrong(
            "the shape of the input is missing; give n and dimensions (numbers or names of test arguments), or data (the "
            "name of the test argument with the input array)"
        )
    window = mark.kwargs.get("window", DEFAULT_WINDOW)
    if not (
        isinstance(window, (tuple, list))
        and len(window) == 2
        and all(map(_is_number, window))
        and 0 <= window[0] <= window[1] < math.inf
    ):
        raise wrong(f"invalid window {window!r}; write (min, max), such as (0.8, 1.0)")
    for key, (fits, what) in _KINDS.items():
        if key in mark.kwargs and not fits(mark.kwargs[key]):
            raise wrong(f"{key}={mark.kwargs[key]!r}: write {what}")
    if "data" not in mark.kwargs and (axis := mark.kwargs.get("slice_axis", 0)) > len(mark.kwargs["dimensions"]):
        axes = 1 + len(mark.kwargs["dimensions"])
        raise wrong(f"slice_axis={axis}: the input has {axes} axes (n and dimensions); write one from 0 to {axes - 1}")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_whole(value: Any, minimum: int) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool) and value.__index__() >= minimum


def _is_length(value: Any) -> bool:
    return isinstance(value, str) or _is_whole(value, 1)


#: For each key a check of its value, and its description in messages.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n": (_is_length, "a number, 1 or more, or the name of a test argument"),
    "dimensions": (
        lambda value: isinstance(value, (tuple, list)) and all(map(_is_length, value)),
        "a tuple, such as (512, 512), of numbers, 1 or more, or names of test arguments",
    ),
    "data": (lambda value: isinstance(value, str), "the name of the test argument with the input array"),
    "slice_axis": (lambda value: _is_whole(value, 0), "the number of an axis, 0 or more"),
    "parameters": (
        lambda value: isinstance(value, Mapping) and all(isinstance(name, str) for name in value),
        "a dict, such as {'radius': 3}",
    ),
    "arguments": (
        lambda value: isinstance(value, (tuple, list)) and all(isinstance(name, str) for name in value),
        "a tuple of names of test arguments",
    ),
    "seconds": (
        lambda value: _is_number(value) and 0 < value <= MAX_SECONDS,
        f"a number above 0, max {MAX_SECONDS}",
    ),
    "of": (lambda value: value is None or isinstance(value, str), "the name of a window of device_memory"),
    "everything": (lambda value: isinstance(value, bool), "True or False"),
}


def make_question(mark: pytest.Mark, arguments: Mapping[str, Any]) -> EstimatorQuestion:
    """Returns the question with the arguments of the test. Raises MarkError if they do not fit the mark."""
    given = mark.kwargs

    def argument(name: Any) -> Any:
        if name not in arguments:
            raise MarkError(f"@pytest.mark.check_estimator: the test has no argument {name!r}")
        return arguments[name]

    def number(value: Any) -> int:
        found = argument(value) if isinstance(value, str) else value
        if not _is_whole(found, 1):
            raise MarkError(f"@pytest.mark.check_estimator: invalid number of slices or elements {found!r}; it must be 1 or more")
        return int(found.__index__())

    axis = given.get("slice_axis", 0)
    dtype = given.get("dtype")
    if "data" in given:
        data = argument(given["data"])
        try:
            shape = [number(length) for length in data.shape]
            dtype = dtype or str(data.dtype)
        except (AttributeError, TypeError):
            raise MarkError(
                f"@pytest.mark.check_estimator: the argument {given['data']!r} is {data!r}, not an array with shape and dtype"
            ) from None
        if not 0 <= axis < len(shape):
            raise MarkError(f"@pytest.mark.check_estimator: {given['data']} has no axis {axis}; its shape is {tuple(shape)}")
        slices = shape.pop(axis)
    else:
        slices = number(given["n"])
        shape = [number(length) for length in given["dimensions"]]
    return EstimatorQuestion(
        function=mark.args[0],
        form=given.get("form", FORMS[0]),
        slices=slices,
        slice_axis=axis,
        dimensions=tuple(shape),
        dtype=str(dtype or "float32"),
        parameters=dict(given.get("parameters", {})) | {name: argument(name) for name in given.get("arguments", ())},
        seconds=float(given.get("seconds", DEFAULT_SECONDS)),
    )


@dataclass(frozen=True)
class Judgement:
    """One message for each limit that a test exceeded, and the answers of its estimators, as plain values."""

    problems: list[str]
    estimates: list[dict[str, Any]]


def judge(
    limits: Limits,
    window: Window,
    windows: Mapping[str, Window],
    arguments: Mapping[str, Any],
    repetitions: Repetitions | None,
) -> Judgement:
    found = []
    estimates: list[dict[str, Any]] = []
    if limits.peak_bytes is not None and window.peak_bytes > limits.peak_bytes:
        found.append(
            f"{exact_size(window.peak_bytes)} of device memory at the peak, limit {exact_size(limits.peak_bytes)}\n"
            + listed("Live at the peak:", window.at_peak(), window.pools)
        )
    for kind, limit in limits.kinds.items():
        if (peak := window.by_kind.get(kind, 0)) > limit:
            found.append(
                f"{exact_size(peak)} of {kind} memory at its peak, limit {exact_size(limit)}\n"
                + listed("Live at the peak of all:", tuple(one for one in window.at_peak() if one.kind == kind), ())
            )
    if limits.left_bytes is not None and repetitions is not None:
        found += _leak_problems(limits.left_bytes, repetitions)
    elif limits.left_bytes is not None and window.left_bytes > limits.left_bytes:
        found.append(
            f"{exact_size(window.left_bytes)} of device memory left behind, limit {exact_size(limits.left_bytes)}\n"
            + listed("Still live:", window.left(), window.pools)
        )
    for mark in limits.estimators:
        found += _estimator_problems(mark, window, windows, arguments, estimates)
    return Judgement(found, estimates)


def _leak_problems(limit: int, repetitions: Repetitions) -> list[str]:
    if (leaked := repetitions.leaked_bytes_per_call) <= limit:
        return []
    lines = [
        f"{exact_size(leaked)} of device memory leaked by each call, limit {exact_size(limit)}; {repetitions.calls} calls",
        "Left behind:",
        *(f"\t- {describe_growth(one)}" for one in repetitions.leaks[:MAX_LINES]),
    ]
    return ["\n".join(lines)]


def describe_growth(one: Growth) -> str:
    where = f", {one.site}" if one.site else ""
    each = "" if one.bytes_per_repetition is None else f", {exact_size(one.bytes_per_repetition)} each time"
    return f"{one.name or '(unnamed)'}: {one.kind}{where} -> {exact_size(one.bytes)} by {one.repetitions} calls{each}"


def _estimator_problems(
    mark: pytest.Mark,
    window: Window,
    windows: Mapping[str, Window],
    arguments: Mapping[str, Any],
    estimates: list[dict[str, Any]],
) -> list[str]:
    """Returns the messages; adds the answer to `estimates`."""
    try:
        question = make_question(mark, arguments)
    except MarkError as error:
        return [str(error)]
    if (of := mark.kwargs.get("of")) is not None:
        if of not in windows:
            return [f"@pytest.mark.check_estimator: the test opened no window {of!r} (device_memory.window({of!r}))"]
        window = windows[of]
    everything = bool(mark.kwargs.get("everything", False))
    peak = window.live_peak_bytes if everything else window.peak_since_bytes
    if peak == 0:
        return [f"estimator {question.function} not checked: the test allocated no device memory"]
    answer = ask(question, peak)
    for text in answer.warnings:
        warnings.warn(f"estimator {question.function}: {text}", pytest.PytestWarning, stacklevel=1)
    wrong = find_problems(question, answer, peak, tuple(mark.kwargs.get("window", DEFAULT_WINDOW)))
    at_peak = window.live_at_peak() if everything else window.since_at_peak()
    if answer.error is None:
        estimates.append(estimate_result(mark, question, answer, peak, at_peak, bool(wrong)))
    if not wrong:
        return []
    return ["\n".join(wrong) + "\n" + listed("Live at the peak:", at_peak, window.pools)]


MAX_LINES = 12


def listed(title: str, groups: tuple[Group, ...], pools: tuple[PoolUsage, ...]) -> str:
    lines = [title, *(f"\t- {describe(one)}" for one in groups[:MAX_LINES])]
    if len(groups) > MAX_LINES:
        rest = groups[MAX_LINES:]
        lines.append(f"\t- {sum(one.count for one in rest)} more -> {format_size(sum(one.bytes for one in rest))}")
    lines += [describe_pool(pool) for pool in pools]
    return "\n".join(lines)


def describe(one: Group) -> str:
    where = f" in {one.phase}" if one.phase else ""
    site = f", {one.site}" if one.site else ""
    times = f" x {one.count}, largest {format_size(one.largest_bytes)}" if one.count > 1 else ""
    whose = (" of child processes" if one.count > 1 else " of a child process") if one.child else ""
    return f"{one.name or '(unnamed)'}: {one.kind}{whose}{times}{where}{site} -> {exact_size(one.bytes)}"


def describe_refused(one: Refused) -> str:
    error = f"{one.error} {one.error_name}" if one.error_name else str(one.error)
    where = f" in {one.phase}" if one.phase else ""
    site = f", {one.site}" if one.site else ""
    times = f" x {one.count}" if one.count > 1 else ""
    whose = " of a child process" if one.child else ""
    return f"{exact_size(one.bytes)}: {one.kind}{times}{where}{site}{whose} -> {error}"


def describe_pool(pool: PoolUsage) -> str:
    return (
        f"{pool.name} holds {exact_size(pool.held_bytes)}, of which {format_size(pool.used_bytes)} are in use; all held "
        f"bytes count ({pool.advice})"
    )
