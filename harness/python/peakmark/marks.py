"""Phases and names, told to the recorders that are loaded into this process."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Iterator
from typing import Any

from peakmark.loaded_recorders import loaded_recorders

#: A program that ends with this exit code says that what was asked of it cannot be done here: a device or a library
#: is missing. In a suite its case is `unsupported`, with the last line that it said.
UNSUPPORTED = 77
#: A program that ends with this exit code has checked its result and found it wrong. In a suite its case is
#: `wrong_answer`, with the last line that it said.
WRONG_ANSWER = 78

_lock = threading.Lock()
_current = ""


def _tell_phase(text: str) -> None:
    global _current
    _current = text
    # A recorder comes up with the first call into OpenCL or CUDA, and begins in the phase that stands here. The number
    # of the process keeps its children from taking it for theirs.
    os.putenv("PEAKMARK_PHASE", f"{os.getpid()}:{text}")
    for recorder in loaded_recorders():
        recorder.peakmark_phase(text.encode())


@contextlib.contextmanager
def phase(text: str) -> Iterator[None]:
    """Within it the program is in this phase; after it, in the one before. Also a decorator.

    A phase within a phase is a part of it, and is called so: `call/fft`. A phase belongs to the process, not to a
    thread. One that begins before there is a recorder is not lost: the recorder begins in it. Phases that suites know:
    `inputs`, `outputs`, `call`, `end`.
    """
    if "PEAKMARK_PROFILE" not in os.environ:
        yield
        return
    with _lock:
        before = _current
        _tell_phase(f"{before}/{text}" if before else text)
    try:
        yield
    finally:
        with _lock:
            _tell_phase(before)


def name(memory: Any, text: str) -> None:
    """Names an allocation: it stands so in tables of what was live.

    `memory` is an address, or an object that has one: pyopencl's buffers, images and arrays, whatever has
    `__cuda_array_interface__` (CuPy, numba, torch), a ctypes pointer. TypeError for anything else. An array that a
    pool has cut out of a larger allocation has no allocation of its own, and stays without a name. A name needs a
    recorder that is there: one that comes up later knows no earlier allocation anyway.
    """
    recorders = loaded_recorders()
    if not recorders:
        return
    address = _address_of(memory)
    for recorder in recorders:
        recorder.peakmark_name(address, text.encode())


def recording() -> bool:
    """Whether a recorder is writing down this process's allocations now."""
    return bool(loaded_recorders())


def _address_of(memory: Any) -> int:
    if isinstance(memory, int):
        return memory
    if isinstance(memory, ctypes.c_void_p):
        return memory.value or 0
    for read in (
        lambda: memory.int_ptr,  # pyopencl's memory objects
        lambda: memory.base_data.int_ptr,  # its arrays
        lambda: memory.__cuda_array_interface__["data"][0],
    ):
        try:
            address = read()
        except (AttributeError, KeyError, TypeError):
            continue
        if isinstance(address, int):
            return address
    raise TypeError(
        f"peakmark.name: a {type(memory).__name__} has no address of device memory: give the address, an object with "
        "int_ptr (pyopencl) or with __cuda_array_interface__ (CuPy, numba, torch)"
    )
