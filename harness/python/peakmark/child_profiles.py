"""Profiles of the processes that this one has started, and that those have: they stand beside its own."""

from __future__ import annotations

import contextlib
import os
import time

from peakmark.ledger import Source
from peakmark.profiles import Event, EventReader, Process, ProfileError, process_of
from peakmark.recorders import is_loaded_by_this_process


class ChildProfile:
    """One that is followed until its process is over."""

    def __init__(self, path: str, process: Process, source: Source):
        self.source = source
        self.is_over = False
        #: Nobody has written when the process was over: it is taken to have lived until that was seen.
        self.ended_unseen = False
        self._reader = EventReader(path)
        self._process = process

    @property
    def process(self) -> Process:
        return self._process

    def advance(self, replaced_ns: int | None) -> tuple[list[Event], int | None]:
        """What has come since and, once, when the process was over. `replaced_ns`: when it executed another program."""
        # Asked first: what is written in between is read then.
        process = process_of(self._reader.path) or self._process
        end_ns = replaced_ns or process.end_ns or None
        if end_ns is None and not _is_running(process.pid):
            end_ns, self.ended_unseen = time.monotonic_ns(), True
        self._process = process
        events = self._reader.read_written(end_ns is not None)
        self.is_over = end_ns is not None
        return events, end_ns

    def lost_events(self) -> int:
        return self._reader.lost_events()

    def why_lost(self) -> str:
        return self._reader.why_lost()

    @property
    def path(self) -> str:
        return self._reader.path


class ChildProfiles:
    """Those that have been found so far."""

    def __init__(self) -> None:
        self._by_file: dict[str, ChildProfile] = {}
        self._family = {os.getpid()}
        self._begins_with = ""  # the path of each

    def found(self) -> list[ChildProfile]:
        return list(self._by_file.values())

    def look(self) -> None:
        """Finds those that have been begun since."""
        # Children that were begun before the program cleared its environment are followed all the same.
        self._begins_with = os.environ.get("PEAKMARK_PROFILE") or self._begins_with
        folder, name = os.path.split(self._begins_with)
        if not name:
            return
        others: dict[str, Process] = {}
        with contextlib.suppress(OSError):
            for file in os.listdir(folder or "."):
                if file.startswith(name + ".") and file not in self._by_file:
                    process = process_of(os.path.join(folder, file))
                    if process is not None and process.pid != os.getpid():
                        others[file] = process
        for file in self._descendants(others):
            with contextlib.suppress(ProfileError, OSError):
                source = Source(others[file].pid, len(self._by_file))
                self._by_file[file] = ChildProfile(os.path.join(folder, file), others[file], source)

    def _descendants(self, others: dict[str, Process]) -> list[str]:
        if is_loaded_by_this_process():  # the folder is this process's own
            return list(others)
        found: list[str] = []
        grew = True
        while grew:
            grew = False
            for file, process in others.items():
                if file not in found and not self._family.isdisjoint((process.pid, process.parent, *_ancestors(process.pid))):
                    self._family.add(process.pid)
                    found.append(file)
                    grew = True
        return found

    def replaced_ns(self, child: ChildProfile) -> int | None:
        """When its process had executed another program, at the latest: that one's recorder has come up."""
        own = child.process
        starts = [
            other.process.start_ns
            for other in self._by_file.values()
            if (other.process.pid, other.process.recorder) == (own.pid, own.recorder) and other.process.start_ns > own.start_ns
        ]
        return min(starts, default=None)


def _ancestors(pid: int) -> list[int]:
    """Of a process that runs: a shell in between has no profile."""
    found: list[int] = []
    while pid > 1 and (status := _status(pid)) is not None:
        pid = int(status[1])
        found.append(pid)
    return found


def _is_running(pid: int) -> bool:
    """What is over and waits for its parent to ask has no memory any more."""
    status = _status(pid)
    return status is not None and status[0] not in (b"Z", b"X")


def _status(pid: int) -> list[bytes] | None:
    """The fields behind the name: the state, the parent, …; None where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2].split() or None
    except OSError:
        return None
