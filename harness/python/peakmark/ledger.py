"""What events add up to: live bytes, their peak and what it was made of, as the program's own ledger has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from peakmark.profiles import (
    ALLOCATION,
    BESIDE_THE_PEAK,
    ERROR_NAMES,
    FAILED_ALLOCATION,
    KINDS,
    NAME,
    NOTE,
    PHASE,
    POOL,
    RELEASE,
    STACK,
    Event,
)


class Source(NamedTuple):
    """Whose events: each recorder of each process has its own addresses and stacks, each process its own phases."""

    process: int
    recorder: int


#: What a process that looks at itself calls itself; what it has started goes by the process's number.
OWN = 0


@dataclass(slots=True, eq=False)
class Allocation:
    """One that is live, or was. `serial` counts allocations in the order in which they were made."""

    serial: int
    kind: int
    bytes: int
    time_ns: int
    phase: str
    stack: tuple[Source, int]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Allocations that are alike: `bytes` of all `count` of them. `child`: made by processes that this one started."""

    name: str
    kind: str
    phase: str
    site: str
    child: bool
    bytes: int
    count: int


@dataclass(frozen=True, slots=True)
class Refused:
    """Requests that are alike and that the driver refused: `bytes` of each. `error` is the API's: OpenCL's are negative,
    CUDA's positive; `error_name` is None where it is not known."""

    bytes: int
    kind: str
    error: int
    error_name: str | None
    phase: str
    site: str
    child: bool
    count: int


class Request(NamedTuple):
    """Of a refused allocation; `stack` as Allocation has it."""

    bytes: int
    kind: int
    error: int
    phase: str
    stack: tuple[Source, int]


def grouped_requests(refused: Mapping[Request, int], site_of: Callable[[Request], str]) -> tuple[Refused, ...]:
    """The largest first, then in the order in which they first came."""
    groups: dict[tuple[int, str, int, str | None, str, str, bool], int] = {}
    for one, count in refused.items():
        kind, name = KINDS.get(one.kind, "unknown"), ERROR_NAMES.get(one.error)
        key = (one.bytes, kind, one.error, name, one.phase, site_of(one), one.stack[0].process != OWN)
        groups[key] = groups.get(key, 0) + count
    return tuple(sorted((Refused(*key, count=count) for key, count in groups.items()), key=lambda one: -one.bytes))


def grouped(allocations: Iterable[Allocation], site_of: Callable[[Allocation], str]) -> tuple[Group, ...]:
    """The largest first. `site_of` names the place that asked for one; empty where it is not known."""
    groups: dict[tuple[str, str, str, str, bool], list[int]] = {}
    for one in allocations:
        child = one.stack[0].process != OWN
        key = (one.name, KINDS.get(one.kind, "unknown"), one.phase, site_of(one), child)
        groups.setdefault(key, []).append(one.bytes)
    made = [Group(*key, bytes=sum(sizes), count=len(sizes)) for key, sizes in groups.items()]
    return tuple(sorted(made, key=lambda one: -one.bytes))


class Tally:
    """Live bytes of some allocations, and what was live at the first moment of their peak."""

    def __init__(self, live: Iterable[Allocation], last_serial: int):
        self._current = {one.serial: one for one in live}
        self.live_bytes = sum(one.bytes for one in self._current.values())
        self.peak_bytes = self.live_bytes
        self._last_at_peak = last_serial
        self._released_since_peak: list[Allocation] = []

    def add(self, one: Allocation) -> None:
        self._current[one.serial] = one
        self.live_bytes += one.bytes
        if self.live_bytes > self.peak_bytes:
            self.peak_bytes = self.live_bytes
            self._last_at_peak = one.serial
            self._released_since_peak.clear()

    def remove(self, one: Allocation) -> None:
        if self._current.pop(one.serial, None) is None:
            return
        self.live_bytes -= one.bytes
        if one.serial <= self._last_at_peak:
            self._released_since_peak.append(one)

    def live(self) -> list[Allocation]:
        return list(self._current.values())

    def at_peak(self) -> list[Allocation]:
        """What has lived since before the peak, and what was released since."""
        return [one for one in self._current.values() if one.serial <= self._last_at_peak] + self._released_since_peak


@dataclass
class Counts:
    allocations: int = 0
    total_bytes: int = 0
    failed_allocations: int = 0
    failed_bytes: int = 0
    refused: dict[Request, int] = field(default_factory=dict)
    pool_reserved_peak_bytes: int | None = None
    beside: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class View:
    """What happens from its making on: of what is allocated since (`own`), of all that is live (`everything`), and of
    what was allocated since an earlier view was made (`since`)."""

    def __init__(self, live: list[Allocation], last_serial: int, since: View | None = None):
        self.first_serial = last_serial + 1
        self.own = Tally((), last_serial)
        self.everything = Tally(live, last_serial)
        before = self.first_serial if since is None else since.first_serial
        self.since = Tally((one for one in live if one.serial >= before), last_serial)
        self.live_at_start_bytes = self.everything.live_bytes
        self.counts = Counts()
        #: (ns, live bytes of `own`) after each event that changed them; None where nobody asked for it.
        self.timeline: list[tuple[int, int]] | None = None
        self._beside: dict[int, Tally] = {}

    def allocated(self, one: Allocation, is_new: bool) -> None:
        if one.kind in BESIDE_THE_PEAK:
            tally = self._beside.setdefault(one.kind, Tally((), 0))
            tally.add(one)
            self.counts.beside[KINDS[one.kind]] = tally.peak_bytes
            return
        self.own.add(one)
        if self.timeline is not None:
            self.timeline.append((one.time_ns, self.own.live_bytes))
        self.since.add(one)
        self.everything.add(one)
        if is_new:
            self.counts.allocations += 1
            self.counts.total_bytes += one.bytes

    def released(self, one: Allocation, time_ns: int) -> None:
        if one.kind in BESIDE_THE_PEAK:
            if one.kind in self._beside:
                self._beside[one.kind].remove(one)
            return
        self.own.remove(one)
        if self.timeline is not None:
            self.timeline.append((time_ns, self.own.live_bytes))
        self.since.remove(one)
        self.everything.remove(one)


class Ledger:
    """Replays the events of processes from their first ones on, and tells those who look on."""

    def __init__(self) -> None:
        self._live: dict[tuple[Source, int], Allocation] = {}
        self._stacks: dict[tuple[Source, int], str] = {}
        self._last_serial = 0
        self._phases: dict[int, str] = {}
        self._views: list[View] = []
        self.notes: list[str] = []

    def open_view(self, since: View | None = None) -> View:
        live = [one for one in self._live.values() if one.kind not in BESIDE_THE_PEAK]
        view = View(live, self._last_serial, since)
        self._views.append(view)
        return view

    def has_view(self, view: View) -> bool:
        return view in self._views

    def close_view(self, view: View) -> None:
        self._views.remove(view)

    def stack_of(self, one: Allocation | Request) -> str:
        """The text of its call stack; empty where none was recorded."""
        return self._stacks.get(one.stack, "")

    def replay(self, source: Source, event: Event) -> None:
        at = (source, event.address)
        if event.type == ALLOCATION:
            self._release(at, event.time_ns)  # its release was lost
            self._last_serial += 1
            stack = (source, event.stack)
            phase = self._phases.get(source.process, "")
            one = Allocation(self._last_serial, event.kind, event.amount, event.time_ns, phase, stack)
            self._live[at] = one
            for view in self._views:
                view.allocated(one, event.result == 0)
        elif event.type == RELEASE:
            self._release(at, event.time_ns)
        elif event.type == FAILED_ALLOCATION:
            # A request of 2^63 bytes or more does not fit the event.
            size = event.amount if event.amount >= 0 else 2**63 - 1
            phase = self._phases.get(source.process, "")
            request = Request(size, event.kind, event.result, phase, (source, event.stack))
            for view in self._views:
                view.counts.failed_allocations += 1
                view.counts.failed_bytes += event.amount
                refused = view.counts.refused
                refused[request] = refused.get(request, 0) + 1
        elif event.type == NAME:
            if (named := self._live.get(at)) is not None:
                named.name = event.text
        elif event.type == PHASE:
            self._phases[source.process] = event.text
        elif event.type == POOL:
            for view in self._views:
                counts = view.counts
                counts.pool_reserved_peak_bytes = max(counts.pool_reserved_peak_bytes or 0, event.amount)
        elif event.type == NOTE:
            self.notes.append(event.text)
            for view in self._views:
                view.counts.notes.append(event.text)
        elif event.type == STACK:
            self._stacks[(source, event.address)] = event.text

    def end(self, source: Source, time_ns: int) -> None:
        """The process is over: the system has released what it held."""
        for at in [at for at in self._live if at[0] == source]:
            self._release(at, time_ns)

    def _release(self, at: tuple[Source, int], time_ns: int) -> None:
        if (one := self._live.pop(at, None)) is not None:
            for view in self._views:
                view.released(one, time_ns)
