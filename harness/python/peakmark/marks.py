"""Phases and names of allocations, passed to the recorders that are loaded into this process."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

#: Exit code of a program that cannot run here, because a device or a library is missing. In a suite its case is
#: `unsupported`, with the last line of its output.
UNSUPPORTED = 77
#: Exit code of a program that has checked its result and found it wrong. In a suite its case is `wrong_answer`, with the
#: last line of its output.
WRONG_ANSWER = 78

_ABI_VERSION = 1  # PEAKMARK_MARKS_VERSION
_NOT_STARTED = 0

# The recorders in this process, by path, including those that have not started yet. A recorder may be loaded any time and is
# never unloaded.
_found: dict[str, ctypes.CDLL] = {}


def _paths_of_recorders() -> list[str]:
    """Returns the libraries that the variables of the loaders name."""
    # os.environ has the values from the start of Python; a loader of OpenCL shortens OPENCL_LAYERS of the process.
    layers = os.environ.get("OPENCL_LAYERS", "").split(":")
    return [path for path in (*layers, os.environ.get("CUDA_INJECTION64_PATH", "")) if path]


def _open_recorder(path: str, load: bool) -> ctypes.CDLL | None:
    # Never loads layers of other tools; only the OpenCL loader may do that.
    load = load and os.path.basename(path).startswith("libpeakmark-")
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_LAZY if load else os.RTLD_NOLOAD | os.RTLD_LAZY)
        library.peakmark_marks_version.restype = ctypes.c_int
        library.peakmark_phase.argtypes = [ctypes.c_char_p]
        library.peakmark_phase.restype = None
        library.peakmark_name.argtypes = [ctypes.c_uint64, ctypes.c_char_p]
        library.peakmark_name.restype = None
    except (OSError, AttributeError):
        return None  # not loaded, or another tool's layer
    return library if library.peakmark_marks_version() in (_NOT_STARTED, _ABI_VERSION) else None


def _find_recorders(load: bool) -> None:
    # If a program has cleared its environment, the known recorders stay and no other is loaded.
    if "PEAKMARK_PROFILE" in os.environ:
        for path in _paths_of_recorders():
            if path not in _found and (library := _open_recorder(path, load)) is not None:
                _found[path] = library


def loaded_recorders() -> list[ctypes.CDLL]:
    """Returns the recorders that are recording now."""
    _find_recorders(load=False)
    return [library for library in _found.values() if library.peakmark_marks_version() == _ABI_VERSION]


def _recorders_for_phases() -> list[ctypes.CDLL]:
    """Returns all recorders. Loads those that are not loaded yet: they start in the current phase when OpenCL or CUDA is
    called."""
    _find_recorders(load=True)
    return list(_found.values())


class _OpenPhase:
    """A phase that has begun and not ended. Objects of the same name are different phases."""

    def __init__(self, text: bytes):
        self.text = text


# Reentrant, because a signal handler or a finalizer may run a mark inside another one.
_lock = threading.RLock()
_open: list[_OpenPhase] = []


def _reset_in_forked_child() -> None:
    """A forked child does not inherit phases. It gets a new lock, because the thread that held the lock may not exist in the child."""
    global _lock
    _lock = threading.RLock()
    _open.clear()


os.register_at_fork(after_in_child=_reset_in_forked_child)


def _encoded(text: str) -> bytes:
    """Returns the text in UTF-8, with NUL and surrogates as escapes."""
    if not isinstance(text, str):
        raise TypeError(f"peakmark: a phase or a name must be a str, not {type(text).__name__}")
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")


def _pass_on_phase() -> None:
    text = _open[-1].text if _open else b""
    for recorder in _recorders_for_phases():
        recorder.peakmark_phase(text)


class phase(contextlib.ContextDecorator):
    """A context manager and decorator: the program is in this phase until the block or function ends.

    Phases can be nested: a phase within `call` is `call/fft`. A phase belongs to the process, not to a thread: if several threads
    have one, the phase that began last and is still open applies. A recorder that is loaded later starts in the current phase. A
    forked child starts without a phase. Suites use the phases `inputs`, `outputs`, `call` and `end`. NUL and surrogates
    become `\\x00` and `\\udc80`. Raises TypeError if `text` is not a str, even if nothing is recorded.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._encoded = _encoded(text)
        self._entered: list[_OpenPhase | None] = []  # may be entered several times, and nested

    def _recreate_cm(self) -> "phase":
        # As a decorator, each call is a separate phase, since threads may call at the same time.
        return phase(self._text)

    def __enter__(self) -> None:
        if "PEAKMARK_PROFILE" not in os.environ and not loaded_recorders():
            self._entered.append(None)
            return
        with _lock:
            begun = _OpenPhase(_open[-1].text + b"/" + self._encoded if _open else self._encoded)
            _open.append(begun)
            self._entered.append(begun)
            _pass_on_phase()

    def __exit__(self, *_: object) -> None:
        begun = self._entered.pop()
        if begun is None:
            return
        with _lock:
            if begun in _open:  # not in a forked child
                was_current = _open[-1] is begun
                _open.remove(begun)
                if was_current:
                    _pass_on_phase()


_Result = TypeVar("_Result")


def repeat_call(function: Callable[..., _Result], *arguments: Any, **named: Any) -> _Result:
    """Calls the function and returns its last result. Under `peakmark record --repeat-call N` it is called N times, each time in
    the phase `call`; otherwise once, also in that phase.

    Before each call the earlier result is released, and after each call garbage is collected, so cycles of objects are not leaks.
    """
    calls = _number_of_calls()
    for call in range(1, calls + 1):
        with phase("call"):
            result = function(*arguments, **named)
            if calls > 1:
                gc.collect()
        if call < calls:
            del result
    return result


def _number_of_calls() -> int:
    try:
        return max(1, int(os.environ.get("PEAKMARK_REPEAT_CALL", "1")))
    except ValueError:
        return 1


def name(memory: Any, text: str) -> None:
    """Names an allocation in tables of live allocations.

    `memory` is an address, or an object that has one: a buffer, image or array of pyopencl, an object with
    `__cuda_array_interface__` (CuPy, numba, torch), or a ctypes pointer. Raises TypeError for anything else, even if nothing is
    recorded. Has no effect for an array that is only a part of an allocation, such as a block of a pool, and before a
    recorder is loaded.
    """
    address = _address(memory)
    encoded = _encoded(text)
    for recorder in loaded_recorders():
        recorder.peakmark_name(address, encoded)


_METRIC_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def metric(name: str, value: float, better: str | None = None) -> None:
    """Reports a number of this case, such as iterations or the error of the result, which reports show beside memory and time.

    `better` is `"higher"` or `"lower"`, the values that are better, or None if neither is. Report each metric once. A value that is not
    finite makes the case a `wrong_answer`. Has no effect unless the program is measured by `peakmark.run` or by a suite. Raises
    TypeError if the value is not a number, and ValueError for a wrong name or direction.
    """
    if not isinstance(name, str) or not _METRIC_NAME.fullmatch(name):
        raise ValueError(f"peakmark.metric: {name!r} is not the name of a metric: use letters, digits and _, without a digit at the beginning")
    if better not in (None, "higher", "lower"):
        raise ValueError(f"peakmark.metric: better={better!r}: write 'higher', 'lower' or None")
    if isinstance(value, (str, bytes, bool)) or not hasattr(value, "__float__"):
        raise TypeError(f"peakmark.metric: {name} is {value!r}: report a number")
    line = f"{name} {float(value)!r}" + (f" {better}" if better else "") + "\n"
    if path := os.environ.get("PEAKMARK_METRICS"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line)


def recording() -> bool:
    """Returns whether a recorder records this process's allocations now."""
    return bool(loaded_recorders())


def _address(memory: Any) -> int:
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
        except Exception:  # noqa: BLE001 - the other library may raise any exception
            continue
        if isinstance(address, int):
            return address
    raise TypeError(
        f"peakmark.name: no device memory address in a {type(memory).__name__}; give the address, an object with "
        "int_ptr (pyopencl) or with __cuda_array_interface__ (CuPy, numba, torch)"
    )
