"""Repeated calls in this process, and the memory that they leave behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from peakmark.marks import phase
from peakmark.memory_library import NoRecorder
from peakmark.windows import Window


@dataclass(frozen=True, slots=True)
class Growth:
    """Memory that calls leave behind, with the same name, kind, phase and call chain `where` (None without call stacks).

    `site` has your own lines of the chain.

    `verdict` is `leak` (it grows again and again), `undecided` (it grew once in the second half of the calls) or `warm_up` (only
    in the first half). `bytes` is the sum over all calls except the last. `bytes_per_repetition` is None if it differs from call to
    call. `repetitions` is the number of calls that left some memory.
    """

    verdict: str
    name: str
    kind: str
    phase: str
    where: str | None
    site: str | None
    bytes: int
    bytes_per_repetition: int | None
    repetitions: int


@dataclass(frozen=True, slots=True)
class Repetitions:
    """The memory that repeated calls leave behind."""

    calls: int
    #: One sentence: `steady`, `leak: 64 B each time`, ….
    verdict: str
    #: Live bytes of the whole process after each call, and the peak of each call.
    live_after_bytes: tuple[int, ...]
    peak_bytes: tuple[int, ...]
    #: By how much the peak of a call grew in the second half of the calls, if it grew again and again; else 0.
    peak_drift_bytes: int
    growth: tuple[Growth, ...]

    @property
    def leaks(self) -> tuple[Growth, ...]:
        return tuple(one for one in self.growth if one.verdict == "leak")

    @property
    def leaked_bytes_per_call(self) -> int:
        """The sum of the leaks; for a leak that varies, its mean, rounded up."""
        judged = self.calls - 1
        return sum(one.bytes_per_repetition or -(-one.bytes // judged) for one in self.leaks)


MIN_CALLS = 4


class _RepeatedWindow(Window):
    _has_repetitions = True


def repeat(function: Callable[[], Any], calls: int = 8) -> Repetitions:
    """Calls the function `calls` times, and returns the memory that the calls leave behind.

    After each call, garbage is collected and the devices have finished. The first calls may leave memory behind, such as caches and
    pools; the result of the last call is not counted. Raises ValueError for less than four calls, and RecorderError if nothing
    is recorded.
    """
    if calls < MIN_CALLS:
        raise ValueError(f"too few calls to find a leak: {calls}; make {MIN_CALLS} or more")
    with _RepeatedWindow("repeat") as window:
        for _ in range(calls):
            with phase("call"):
                function()
                # A window collects garbage and waits for the devices at its start and end.
                with Window("call"):
                    pass
    found = [one for one in window._figures["repetitions"] if one["times"] == calls and one["phase"].split("/")[-1] == "call"]
    if not found:
        raise NoRecorder("neither OpenCL nor CUDA was called in this process, so nothing was recorded")
    return Repetitions(
        calls=calls,
        verdict="; ".join(dict.fromkeys(one["verdict"] for one in found)),
        live_after_bytes=tuple(map(sum, zip(*(one["live_after_bytes"] for one in found)))),
        peak_bytes=tuple(map(sum, zip(*(one["peak_bytes"] for one in found)))),
        peak_drift_bytes=max(one["peak_drift_bytes"] or 0 for one in found),
        growth=tuple(Growth(**growth) for one in found for growth in one["growth"]),
    )
