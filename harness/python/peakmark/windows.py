"""Windows: what a part of this process did with device memory, read from its own profile while it runs."""

from __future__ import annotations

import ctypes
import gc
import heapq
import os
import threading
import time
from types import TracebackType
from typing import Any

from peakmark.call_sites import site_of
from peakmark.child_profiles import ChildProfile, ChildProfiles
from peakmark.ledger import OWN, Allocation, Group, Ledger, Refused, Request, Source, View, grouped, grouped_requests
from peakmark.pools import PoolUsage, known_pools, usage_of
from peakmark.profiles import Event, EventReader
from peakmark.recorders import RecorderError, is_loaded_by_this_process, require_loaded
from peakmark.sizes import exact_size, format_size, quantity

#: Drivers may destroy what was released a little later than they say that they are done.
SECONDS_FOR_RELEASES = 0.1


class _Follower:
    """Follows the profiles of this process, and of those that it has started, into one ledger. A forked child begins
    anew, as its profile does."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._begin()

    def _begin(self) -> None:
        self.pid = os.getpid()
        self.ledger = Ledger()
        self._readers: dict[str, EventReader] = {}
        self.children = ChildProfiles()

    def advance(self, recorders: list[ctypes.CDLL]) -> None:
        """Reads what has come since."""
        if self.pid != os.getpid():
            self._begin()
        streams: list[list[tuple[int, Source, Event | None]]] = []
        for number, recorder in enumerate(recorders):
            path = recorder.peakmark_profile_path()
            if not path:
                raise RecorderError("the recorder has no profile to write: it says why on standard error")
            reader = self._readers.setdefault(os.fsdecode(path), EventReader(os.fsdecode(path)))
            events = reader.read(recorder.peakmark_event_count())
            _check_lost(reader)
            streams.append(_stream_of(Source(OWN, number), events, None))
        self.children.look()
        for child in self.children.found():
            if not child.is_over:
                events, end_ns = child.advance(self.children.replaced_ns(child))
                _check_lost(child)
                streams.append(_stream_of(child.source, events, end_ns))
        for time_ns, source, event in heapq.merge(*streams, key=lambda one: one[0]):
            if event is None:
                self.ledger.end(source, time_ns)
            else:
                self.ledger.replay(source, event)
        check_notes(self.ledger.notes)


def _stream_of(source: Source, events: list[Event], end_ns: int | None) -> list[tuple[int, Source, Event | None]]:
    """Slots are the order, times only tell which of two recorders was first. No event: the process is over."""
    latest = 0
    stream: list[tuple[int, Source, Event | None]] = []
    for event in events:
        latest = max(latest, event.time_ns)
        stream.append((latest, source, event))
    if end_ns is not None:
        stream.append((max(latest, end_ns), source, None))
    return stream


def _check_lost(profile: EventReader | ChildProfile) -> None:
    if lost := profile.lost_events():
        why = profile.why_lost() or "a thread or process stopped while it wrote them"
        raise RecorderError(
            f"{profile.path}: {quantity(lost, 'event is', 'events are')} lost: {why}; where the disk is full, make room there or let TMPDIR name "
            "another folder"
        )


def check_notes(notes: list[str]) -> None:
    """Raises RecorderError where the recorder says that its events are not all there were."""
    for note in notes:
        if note.startswith("invalid:"):
            raise RecorderError(f"the recording cannot be trusted: {note}")
        if note.startswith("not counted:"):
            raise RecorderError(f"not everything is recorded: {note}")


_follower = _Follower()


def _settle() -> tuple[list[ctypes.CDLL], list[str]]:
    """At an edge of a window: garbage is collected, and the devices have done what they were asked for. The recorders,
    and why something was not waited for."""
    gc.collect()
    recorders = require_loaded()
    reasons = []
    for recorder in recorders:
        if not hasattr(recorder, "peakmark_synchronise"):
            raise RecorderError(
                "the recorder is older than this module: build and install peakmark and its Python module from the "
                "same sources"
            )
        if reason := recorder.peakmark_synchronise():
            reasons.append(f"the device was not waited for: {os.fsdecode(reason)}")
    return recorders, reasons


class Window:
    """Device memory from `with` to its end, exact to the byte, of the whole process with all its threads, and of the
    processes that it has started.

    Bytes are requested bytes. Attributes count when the window has ended; `peak_bytes` and the other figures of a
    window that is open raise RecorderError.
    """

    _has_timeline = False

    def __init__(self, name: str = "", pools: dict[str, Any] | None = None, since: Window | None = None):
        self.name = name
        self._since = since
        #: Those to tell of, by name; those of CuPy and torch are known.
        self.pools_of_the_program: dict[str, Any] = pools if pools is not None else {}
        self._view: View | None = None
        self._closed = False
        self._children_before = 0
        self._children: list[str] = []
        self._not_waited_for: list[str] = []
        self._end_ns = 0
        #: False where neither OpenCL nor CUDA was called in this process or a child of it: then nothing is known, and no figure is told.
        self.recorded = False
        #: Of libraries that keep memory for later: what they held at the end of the window, and used of it.
        self.pools: tuple[PoolUsage, ...] = ()

    def __enter__(self) -> Window:
        if self._view is not None:
            raise RecorderError("a window is entered once: make another one")
        if os.environ.get("PEAKMARK_COMPACT") == "1" and not is_loaded_by_this_process():
            raise RecorderError(
                "a window reads the profile of its own process, and `record --compact` removes events from it: record "
                "without --compact"
            )
        recorders, self._not_waited_for = _settle()
        with _follower.lock:
            _follower.advance(recorders)
            self._view = _follower.ledger.open_view(None if self._since is None else self._since._view)
            if self._has_timeline:
                self._view.timeline = []
            self._children_before = len(_follower.children.found())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        view = self._view
        assert view is not None
        self._end_ns = time.monotonic_ns()
        try:
            recorders, not_waited_for = _settle()
            self._not_waited_for += [reason for reason in not_waited_for if reason not in self._not_waited_for]
            with _follower.lock:
                _follower.advance(recorders)
                patience = time.monotonic() + SECONDS_FOR_RELEASES
                while view.own.live_bytes > 0 and time.monotonic() < patience:
                    time.sleep(0.001)
                    _follower.advance(recorders)
                self.recorded = bool(recorders) or bool(_follower.children.found())
                self._children = _notes_on(_follower.children.found()[self._children_before :])
        finally:
            with _follower.lock:
                if _follower.ledger.has_view(view):  # not in a forked child
                    _follower.ledger.close_view(view)
        self.pools = (*known_pools(), *(usage_of(pool, name) for name, pool in self.pools_of_the_program.items()))
        self._closed = True

    @property
    def is_known(self) -> bool:
        """Whether the window has ended and something could be recorded: then it has figures."""
        return self._closed and self.recorded

    @property
    def _seen(self) -> View:
        if self._view is None:
            raise RecorderError("the window has not begun: put what it is to measure into `with` and the window")
        if not self._closed:
            raise RecorderError("the window is still open: its figures are known when its `with` has ended")
        if not self.recorded:
            raise RecorderError("neither OpenCL nor CUDA was called in this process, so nothing was recorded")
        return self._view

    @property
    def peak_bytes(self) -> int:
        """The most live bytes of what was allocated within the window."""
        return self._seen.own.peak_bytes

    @property
    def live_at_start_bytes(self) -> int:
        return self._seen.live_at_start_bytes

    @property
    def live_peak_bytes(self) -> int:
        """The most live bytes in the window, of all that was live: what `peakmark show` tells as the peak of a phase."""
        return self._seen.everything.peak_bytes

    @property
    def peak_since_bytes(self) -> int:
        """The most live bytes in the window of what was allocated since the window `since` began; else `peak_bytes`."""
        return self._seen.since.peak_bytes

    @property
    def left_bytes(self) -> int:
        """Allocated within the window and live at its end."""
        return self._seen.own.live_bytes

    @property
    def allocations(self) -> int:
        return self._seen.counts.allocations

    @property
    def total_bytes(self) -> int:
        """Of all allocations, whether or not they were live at the same time."""
        return self._seen.counts.total_bytes

    @property
    def failed_allocations(self) -> int:
        return self._seen.counts.failed_allocations

    def refused(self) -> tuple[Refused, ...]:
        """What the driver refused in the window, `failed_allocations` in all; the largest first."""
        return grouped_requests(self._seen.counts.refused, _site)

    @property
    def pool_reserved_peak_bytes(self) -> int | None:
        """The most that a pool of the CUDA driver reserved; None where none was seen."""
        return self._seen.counts.pool_reserved_peak_bytes

    @property
    def beside_the_peak(self) -> dict[str, int]:
        """Peaks of the kinds that the device need not hold, such as `host_pointer`."""
        return dict(self._seen.counts.beside)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the recorder has to say of the window, and what it cannot see."""
        notes = self._seen.counts.notes + self._not_waited_for
        return (*notes, *self._children)

    def at_peak(self) -> tuple[Group, ...]:
        """What of the window's own was live at the first moment of `peak_bytes`, the largest first."""
        return grouped(self._seen.own.at_peak(), _site)

    def live_at_peak(self) -> tuple[Group, ...]:
        """What was live at the first moment of `live_peak_bytes`."""
        return grouped(self._seen.everything.at_peak(), _site)

    def since_at_peak(self) -> tuple[Group, ...]:
        """What was live at the first moment of `peak_since_bytes`."""
        return grouped(self._seen.since.at_peak(), _site)

    def left(self) -> tuple[Group, ...]:
        """What `left_bytes` are."""
        return grouped(self._seen.own.live(), _site)

    def __repr__(self) -> str:
        if not self._closed:
            return f"<Window {self.name!r}, {'open' if self._view is not None else 'not begun'}>"
        if not self.recorded:
            return f"<Window {self.name!r}, nothing recorded>"
        return f"<Window {self.name!r}, peak {exact_size(self.peak_bytes)}, left {format_size(self.left_bytes)}>"


def _notes_on(children: list[ChildProfile]) -> list[str]:
    """Of the processes that began within a window."""
    notes = []
    if processes := len({child.process.pid for child in children}):
        notes.append(f"the memory of {_child_processes(processes)} is in these figures")
    if unseen := len({child.process.pid for child in children if child.ended_unseen}):
        notes.append(
            f"{_child_processes(unseen)} ended unseen, killed or by os._exit: counted as holding memory until the end was "
            "noticed; under `peakmark record` that is seen"
        )
    return notes


def _child_processes(number: int) -> str:
    return f"{number} child process{'' if number == 1 else 'es'}"


def _site(one: Allocation | Request) -> str:
    return site_of(_follower.ledger.stack_of(one))
