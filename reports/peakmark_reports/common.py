"""Errors, and numbers as text: shared by plots, pages and CI reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager


class InputError(Exception):
    """Ends a command with a message instead of a traceback; `code` is the exit code."""

    code = 2


@contextmanager
def reading(command: str, name: str = "") -> Iterator[None]:
    """Reports what is read within as not being the output of a command of peakmark; errors show `name`."""
    where = f"{name}: " if name else ""
    try:
        yield
    except json.JSONDecodeError as error:
        raise InputError(f"{where}invalid or truncated JSON: {error}") from error
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{where}not the output of `peakmark {command}`: {error!r}") from error


def check_version(found: object, supported: int, name: str) -> None:
    if found != supported:
        raise InputError(f"{name}: unsupported version of its JSON: {found}, not {supported}; use the peakmark that wrote it")


METRIC_NAMES = {
    "requested_peak_bytes": "peak",
    "setup_bytes": "setup",
    "leaked_bytes": "leak",
    "gpu_time_ns": "time",
    "estimate_ratio": "peak / estimate",
}
UNKNOWN = "–"

_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]


def quantity(count: int, one: str, many: str = "") -> str:
    """Returns a number with its noun: `1 run`, `1,200 runs`. `many` is the plural if it is not `one` with an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def size_text(value: float) -> str:
    """Returns bytes in binary units: `1.5 KiB` for 1536."""
    unit = 0
    while abs(value) >= 1024 and unit + 1 < len(_UNITS):
        value /= 1024
        unit += 1
    return f"{value:.4g} {_UNITS[unit]}"


def time_text(nanoseconds: float, digits: int = 4) -> str:
    """Returns nanoseconds with a unit: `1.5 ms`."""
    for name, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:.{digits}g} {name}"
    return f"{nanoseconds:.{digits}g} ns"


def short_commit(commit: str) -> str:
    """Returns the first 12 digits, and the `+` of modified sources."""
    return commit[:12] + ("+" if len(commit) > 12 and commit.endswith("+") else "")


def metric_name(metric: str) -> str:
    return METRIC_NAMES.get(metric, metric.replace("_", " "))


def value_text(metric: str, value: float | int | str | None, digits: int = 4) -> str:
    """Returns `6.75 MiB`, `1.5 ms`, `0.987`, the word of an outcome; a dash if unknown. `digits`: of times and ratios."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return value.replace("_", " ")
    if metric.endswith("_bytes"):
        return size_text(value)
    if metric.endswith("_ns"):
        return time_text(value, digits)
    return f"{value:.{digits}g}"


def two_values(metric: str, one: float | int | str | None, other: float | int | str | None) -> tuple[str, str]:
    """Returns both values as text: with the difference of bytes, or more digits, if they would read the same and are not."""
    texts = value_text(metric, one), value_text(metric, other)
    if one == other or texts[0] != texts[1]:
        return texts
    if metric.endswith("_bytes"):
        return texts[0], f"{texts[1]} {other - one:+.0f} B".replace("-", "−")
    for digits in range(5, 10):
        texts = value_text(metric, one, digits), value_text(metric, other, digits)
        if texts[0] != texts[1]:
            break
    return texts
