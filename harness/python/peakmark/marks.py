"""Phases and names, told to the recorders that are loaded into this process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable
from typing import Any

from peakmark.loaded_recorders import loaded_recorders, recorders_of_phases

#: A program that ends with this exit code says that what was asked of it cannot be done here: a device or a library
#: is missing. In a suite its case is `unsupported`, with the last line that it said.
UNSUPPORTED = 77
#: A program that ends with this exit code has checked its result and found it wrong. In a suite its case is
#: `wrong_answer`, with the last line that it said.
WRONG_ANSWER = 78


class _OpenPhase:
    """One of those that have begun and not ended; two of one name are two."""

    def __init__(self, text: bytes):
        self.text = text


# A lock that one thread may take twice: a mark may end inside another one, in a signal handler or where memory is
# collected.
_lock = threading.RLock()
_open: list[_OpenPhase] = []


def _begin_anew_in_child() -> None:
    """A forked child has its parent's phases not, and a thread that held the lock may not be in it."""
    global _lock
    _lock = threading.RLock()
    _open.clear()


os.register_at_fork(after_in_child=_begin_anew_in_child)


def _written(text: str) -> bytes:
    """As recorders take it: they have neither NUL nor halves of characters (surrogates)."""
    if not isinstance(text, str):
        raise TypeError(f"peakmark: a phase or a name is a text, not a {type(text).__name__}")
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")


def _tell_phase() -> None:
    text = _open[-1].text if _open else b""
    for recorder in recorders_of_phases():
        recorder.peakmark_phase(text)


class phase(contextlib.ContextDecorator):
    """Within it the program is in this phase; after it, in the one before. Also a decorator.

    A phase within a phase is a part of it, and is called so: `call/fft`. A phase belongs to the process, not to a
    thread: of those of several threads the one counts that began last and is still open. One that begins before there
    is a recorder is not lost: the recorder begins in it. A forked child begins in none. Phases that suites know:
    `inputs`, `outputs`, `call`, `end`. NUL and halves of characters stand in a phase as `\\x00` and `\\udc80`; what is
    no text is a TypeError, recorded or not.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._written = _written(text)
        self._entered: list[_OpenPhase | None] = []  # it may be entered again, within itself too

    def _recreate_cm(self) -> "phase":
        # As a decorator: calls of several threads are phases of their own.
        return phase(self._text)

    def __enter__(self) -> None:
        if "PEAKMARK_PROFILE" not in os.environ and not loaded_recorders():
            self._entered.append(None)
            return
        with _lock:
            begun = _OpenPhase(_open[-1].text + b"/" + self._written if _open else self._written)
            _open.append(begun)
            self._entered.append(begun)
            _tell_phase()

    def __exit__(self, *_: object) -> None:
        begun = self._entered.pop()
        if begun is None:
            return
        with _lock:
            if begun in _open:  # not in a forked child
                was_current = _open[-1] is begun
                _open.remove(begun)
                if was_current:
                    _tell_phase()


def name(memory: Any, text: str) -> None:
    """Names an allocation: it stands so in tables of what was live.

    `memory` is an address, or an object that has one: pyopencl's buffers, images and arrays, whatever has
    `__cuda_array_interface__` (CuPy, numba, torch), a ctypes pointer. TypeError for anything else, recorded or not. An
    array that a pool has cut out of a larger allocation has no allocation of its own, and stays without a name. A name
    needs a recorder that is there: one that comes up later knows no earlier allocation anyway.
    """
    address = _address_of(memory)
    written = _written(text)
    for recorder in loaded_recorders():
        recorder.peakmark_name(address, written)


def recording() -> bool:
    """Whether a recorder is writing down this process's allocations now."""
    return bool(loaded_recorders())


def _address_of(memory: Any) -> int:
    if isinstance(memory, int):
        return memory
    if isinstance(memory, ctypes.c_void_p):
        return memory.value or 0
    ways: tuple[Callable[[], Any], ...] = (
        lambda: memory.int_ptr,  # pyopencl's memory objects
        lambda: memory.base_data.int_ptr,  # its arrays
        lambda: memory.__cuda_array_interface__["data"][0],
    )
    for read in ways:
        try:
            address = read()
        except Exception:  # noqa: BLE001 - what another library raises where it has no address is its own
            continue
        if isinstance(address, int):
            return address
    raise TypeError(
        f"peakmark.name: a {type(memory).__name__} has no address of device memory: give the address, an object with "
        "int_ptr (pyopencl) or with __cuda_array_interface__ (CuPy, numba, torch)"
    )
