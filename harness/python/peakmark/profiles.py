"""The events of a profile, read while it is written. docs/formats.md of peakmark tells the format."""

from __future__ import annotations

import os
import struct
import time
from typing import Any, NamedTuple

HEADER_BYTES = 4096
SLOT_BYTES = 64

ALLOCATION, FAILED_ALLOCATION, RELEASE, NAME, PHASE, TEXT, POOL, NOTE, STACK = range(1, 10)

KINDS = {
    0: "none", 1: "buffer", 2: "image", 3: "svm", 4: "pipe", 5: "alloc_host_ptr", 6: "host_pointer", 7: "gl_shared",
    8: "view", 16: "device", 17: "pitched", 18: "pool_async", 19: "array", 20: "managed", 21: "physical",
    22: "host_pinned", 23: "host_registered", 24: "usm_device", 25: "usm_shared", 26: "usm_host", 27: "module_globals",
}  # fmt: skip
#: Kinds that are reported beside the peak, never inside.
BESIDE_THE_PEAK = frozenset((0, 6, 22, 23, 26, 27))

#: Names of the errors with which allocations are refused, as harness/profile/event.cpp has them.
ERROR_NAMES = {
    -4: "CL_MEM_OBJECT_ALLOCATION_FAILURE", -5: "CL_OUT_OF_RESOURCES", -6: "CL_OUT_OF_HOST_MEMORY",
    -10: "CL_IMAGE_FORMAT_NOT_SUPPORTED", -13: "CL_MISALIGNED_SUB_BUFFER_OFFSET", -30: "CL_INVALID_VALUE",
    -33: "CL_INVALID_DEVICE", -34: "CL_INVALID_CONTEXT", -37: "CL_INVALID_HOST_PTR", -38: "CL_INVALID_MEM_OBJECT",
    -39: "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR", -40: "CL_INVALID_IMAGE_SIZE", -59: "CL_INVALID_OPERATION",
    -60: "CL_INVALID_GL_OBJECT", -61: "CL_INVALID_BUFFER_SIZE", -64: "CL_INVALID_PROPERTY",
    -65: "CL_INVALID_IMAGE_DESCRIPTOR", -69: "CL_INVALID_PIPE_SIZE",
    1: "CUDA_ERROR_INVALID_VALUE", 2: "CUDA_ERROR_OUT_OF_MEMORY", 3: "CUDA_ERROR_NOT_INITIALIZED",
    4: "CUDA_ERROR_DEINITIALIZED", 100: "CUDA_ERROR_NO_DEVICE", 101: "CUDA_ERROR_INVALID_DEVICE",
    201: "CUDA_ERROR_INVALID_CONTEXT", 400: "CUDA_ERROR_INVALID_HANDLE", 700: "CUDA_ERROR_ILLEGAL_ADDRESS",
    712: "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", 719: "CUDA_ERROR_LAUNCH_FAILED", 800: "CUDA_ERROR_NOT_PERMITTED",
    801: "CUDA_ERROR_NOT_SUPPORTED", 900: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
}  # fmt: skip

_MAGIC = b"PEAKMARK"
_VERSION = 1
_HEADER = struct.Struct("<8sII")
_PROCESS = struct.Struct("<8sIIiiqqQQQ56s")
#: Lost events, the recorder's name, MINOR, and the error that stopped the recorder.
_LOST = struct.Struct("<Q56sIi")
_LOST_OFFSET = 8 + 4 + 4 + 4 + 4 + 8 + 8 + 8 + 8
_END = struct.Struct("<q")
_END_OFFSET = HEADER_BYTES - 8
_SLOT = struct.Struct("<QqQIBBH32s")
_AMOUNTS = struct.Struct("<qqiIQ")
_TEXTS = frozenset((NAME, PHASE, NOTE, STACK))
_TEXT_BYTES = 32


class ProfileError(Exception):
    """The file is no profile that can be read; the message says why."""


class Event(NamedTuple):
    """`text` is that of names, phases, notes and stacks; `amount` and `auxiliary` are bytes, as the type has them."""

    type: int
    time_ns: int
    address: int
    kind: int
    amount: int
    auxiliary: int
    stack: int
    text: str
    #: The API's error code; of an allocation that of its refused release: it is live again, and not new.
    result: int = 0


class EventReader:
    """Reads a profile of this process step by step: each event once, in the order of its slots."""

    #: A thread that has been given a slot writes it within microseconds; one that died never does.
    SECONDS_FOR_A_SLOT = 10.0

    def __init__(self, path: str):
        self.path = path
        self._next = 0
        self._missing = 0  # slots that were given out and hold no event
        with open(path, "rb") as file:
            header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            raise ProfileError(f"{path}: is no profile of peakmark")
        magic, version, header_bytes = _HEADER.unpack(header)
        if magic != _MAGIC:
            raise ProfileError(f"{path}: is no profile of peakmark")
        if version != _VERSION or header_bytes != HEADER_BYTES:
            raise ProfileError(
                f"{path}: a profile of version {version}; this module reads version {_VERSION}: install peakmark and "
                "its Python module from the same release"
            )

    def lost_events(self) -> int:
        """That came after the recorder had to stop, or are missing in what was read."""
        return int(self._stop()[0]) + self._missing

    def why_lost(self) -> str:
        """Empty where it is not known."""
        error = int(self._stop()[3])
        return os.strerror(error) if error else ""

    def _stop(self) -> tuple[Any, ...]:
        with open(self.path, "rb") as file:
            return _LOST.unpack(os.pread(file.fileno(), _LOST.size, _LOST_OFFSET))

    def read(self, end: int) -> list[Event]:
        """What stands in the slots before `end` and was not read before."""
        if end <= self._next:
            return []
        with open(self.path, "rb") as file:
            slots = self._whole_slots(file.fileno(), self._next, end)
        self._missing += end - self._next - len(slots)
        self._next = end
        return _events_of(slots)

    def read_written(self, is_over: bool) -> list[Event]:
        """What another process has written since, up to what it is still writing; all of it where the process is over."""
        with open(self.path, "rb") as file:
            length = (os.fstat(file.fileno()).st_size - HEADER_BYTES) // SLOT_BYTES - self._next
            if length <= 0:
                return []
            offset = HEADER_BYTES + self._next * SLOT_BYTES
            commits = [slot[0] for slot in _SLOT.iter_unpack(_whole(os.pread(file.fileno(), length * SLOT_BYTES, offset)))]
            written = [commit == self._next + i + 1 for i, commit in enumerate(commits)]
            if not is_over and False in written:
                del written[written.index(False) :]
            elif True in written:  # what follows the last event was allocated, and never used
                self._missing += written[: len(written) - written[::-1].index(True)].count(False)
            slots = list(_SLOT.iter_unpack(_whole(os.pread(file.fileno(), len(written) * SLOT_BYTES, offset))))
        if not is_over:
            slots = slots[: _end_of_texts(slots)]
        self._next += len(slots) if not is_over else len(commits)
        return _events_of([slot for slot, is_written in zip(slots, written) if is_written])

    def _whole_slots(self, descriptor: int, first: int, end: int) -> list[tuple[int, ...]]:
        """Those that are written: a slot is when its commit is there, and it is looked at before the slot is copied."""
        length, offset = (end - first) * SLOT_BYTES, HEADER_BYTES + first * SLOT_BYTES
        patience = time.monotonic() + self.SECONDS_FOR_A_SLOT
        while True:
            commits = [slot[0] for slot in _SLOT.iter_unpack(_whole(os.pread(descriptor, length, offset)))]
            if len(commits) == end - first and all(commit == first + i + 1 for i, commit in enumerate(commits)):
                break
            if time.monotonic() > patience or self._stop()[0] > 0:
                break
            time.sleep(0.001)
        slots = _SLOT.iter_unpack(_whole(os.pread(descriptor, length, offset)))
        return [slot for i, (slot, commit) in enumerate(zip(slots, commits)) if commit == first + i + 1]


class Process(NamedTuple):
    """Whose a profile is. `end_ns` is when the process was over, 0 where nobody has written it."""

    pid: int
    parent: int
    start_ns: int
    end_ns: int
    recorder: bytes


def process_of(path: str) -> Process | None:
    """The process that writes a profile; None for another file, or a header that is not written yet."""
    try:
        with open(path, "rb") as file:
            header = file.read(HEADER_BYTES)
    except OSError:
        return None
    if len(header) < HEADER_BYTES:
        return None
    magic, version, _bytes, pid, parent, start_ns, _time, _closed, _end, _lost, recorder = _PROCESS.unpack_from(header)
    if magic != _MAGIC or version != _VERSION or start_ns == 0:
        return None
    (end_ns,) = _END.unpack_from(header, _END_OFFSET)
    return Process(pid, parent, start_ns, end_ns, recorder.rstrip(b"\0"))


def _whole(data: bytes) -> bytes:
    return data[: len(data) // SLOT_BYTES * SLOT_BYTES]


def _end_of_texts(slots: list[tuple[int, ...]]) -> int:
    """Where the last text is not whole, its head; else the end."""
    head = len(slots) - 1
    while head >= 0 and slots[head][4] == TEXT:
        head -= 1
    if head >= 0 and slots[head][4] in _TEXTS and head + max(1, -(-slots[head][6] // _TEXT_BYTES)) > len(slots):
        return head
    return len(slots)


def _events_of(slots: list[tuple[int, ...]]) -> list[Event]:
    events = []
    for i, (commit, time_ns, address, _thread, kind_of_event, kind, text_bytes, payload) in enumerate(slots):
        if kind_of_event == TEXT:
            continue
        if kind_of_event in _TEXTS:
            text = _text_of(slots, i, commit, text_bytes)
            events.append(Event(kind_of_event, time_ns, address, kind, 0, 0, 0, text))
        else:
            amount, auxiliary, result, _device, stack = _AMOUNTS.unpack(payload)  # type: ignore[arg-type]
            events.append(Event(kind_of_event, time_ns, address, kind, amount, auxiliary, stack, "", result))
    return events


def _text_of(slots: list[tuple[int, ...]], head: int, commit: int, length: int) -> str:
    """The continuations are the very next slots; anything else is a text that was cut off."""
    parts = []
    for i in range(head, min(len(slots), head + max(1, -(-length // _TEXT_BYTES)))):
        if i > head and (slots[i][4] != TEXT or slots[i][0] != commit + (i - head)):
            break
        parts.append(slots[i][7])
    return b"".join(parts)[:length].decode("utf-8", "replace")  # type: ignore[arg-type]
