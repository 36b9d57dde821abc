"""Windows: measure the device memory of a part of this process while it runs."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from peakmark.marks import loaded_recorders
from peakmark.memory_library import RecorderError, begin_region, end_region
from peakmark.sizes import exact_size, format_size


@dataclass(frozen=True, slots=True)
class Group:
    """Allocations with the same name, kind, phase and site.

    `bytes` is their sum, `largest_bytes` the size of the largest. `child`: a child process made them. `site` is the place in your
    code, `where` the call chain of one of them; both are empty if no call stack was recorded.
    """

    name: str
    kind: str
    phase: str
    site: str
    child: bool
    bytes: int
    count: int
    largest_bytes: int
    where: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """Equal requests that the driver refused.

    `bytes` is the size of each. `error` is the error code of OpenCL (negative) or CUDA (positive); `error_name` is None if it is
    unknown.
    """

    bytes: int
    kind: str
    error: int
    error_name: str | None
    phase: str
    site: str
    child: bool
    count: int


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """Memory that a library's pool holds.

    `held_bytes` are requested from the driver; `used_bytes` of them are in use. All held bytes are counted as live.
    """

    name: str
    held_bytes: int
    used_bytes: int
    advice: str


def pool_usage(pool: Any, name: str) -> PoolUsage:
    """Returns the usage of a pool such as pyopencl's and PyCUDA's (managed_bytes, active_bytes) or CuPy's (total_bytes(),
    used_bytes()). Raises TypeError for anything else."""
    if hasattr(pool, "managed_bytes") and hasattr(pool, "active_bytes"):
        return PoolUsage(name, int(pool.managed_bytes), int(pool.active_bytes), "free_held() releases the rest")
    if hasattr(pool, "total_bytes") and hasattr(pool, "used_bytes"):
        return PoolUsage(name, int(pool.total_bytes()), int(pool.used_bytes()), "free_all_blocks() releases the rest")
    raise TypeError(
        f"unsupported pool: a {type(pool).__name__} has neither managed_bytes and active_bytes (pyopencl, "
        "PyCUDA) nor total_bytes() and used_bytes() (CuPy)"
    )


def default_pools() -> list[PoolUsage]:
    """Returns the default pools of CuPy and torch, if the program has imported them and they hold memory."""
    return [pool for pool in _default_pools() if pool.held_bytes > 0]


def _default_pools() -> Iterator[PoolUsage]:
    # These libraries may raise any exception if there is no device.
    if (cupy := sys.modules.get("cupy")) is not None:
        with contextlib.suppress(Exception):
            yield pool_usage(cupy.get_default_memory_pool(), "CuPy's pool")
    if (torch := sys.modules.get("torch")) is not None:
        with contextlib.suppress(Exception):
            if torch.cuda.is_initialized():
                held, used = torch.cuda.memory_reserved(), torch.cuda.memory_allocated()
                yield PoolUsage("torch's pool", int(held), int(used), "torch.cuda.empty_cache() releases the rest")


def _figure(name: str, text: str) -> Any:
    """Returns a property of Window: a figure of the recorder, which is an integer."""
    return property(lambda window: int(window._figures[name]), doc=text)


class Window:
    """Measures the device memory of the whole process, with all threads and child processes, within a `with` block.

    Bytes are requested bytes and exact. At its start and end, the window collects garbage and waits for the devices. The figures raise
    RecorderError before the window has ended.
    """

    _has_timeline = False
    _has_repetitions = False

    def __init__(self, name: str = "", pools: dict[str, Any] | None = None, since: Window | None = None):
        self.name = name
        self._since = since
        #: Pools to report, by name. The default pools of CuPy and torch are always reported.
        self.program_pools: dict[str, Any] = pools if pools is not None else {}
        self._region: int | None = None
        self._result: dict[str, Any] | None = None
        self._end_ns = 0
        #: False if neither OpenCL nor CUDA was called in this process or a child process. Then there are no figures.
        self.recorded = False
        #: Usage of pools at the end of the window.
        self.pools: tuple[PoolUsage, ...] = ()

    def __enter__(self) -> Window:
        if self._region is not None:
            raise RecorderError("a window can be entered only once; create another one")
        loaded_recorders()  # so that marks find them even if the program clears its environment later
        gc.collect()
        self._region = begin_region(None if self._since is None else self._since._region, self._has_timeline, self._has_repetitions)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._region is not None
        self._end_ns = time.monotonic_ns()
        gc.collect()
        result = end_region(self._region)
        self.recorded = bool(result["recorded"])
        self.pools = (*default_pools(), *(pool_usage(pool, name) for name, pool in self.program_pools.items()))
        self._result = result

    @property
    def is_known(self) -> bool:
        """Whether the window has figures: it has ended, and it was recorded."""
        return self._result is not None and self.recorded

    @property
    def _figures(self) -> dict[str, Any]:
        if self._region is None:
            raise RecorderError("the window has not begun; use it in a `with` statement")
        if self._result is None:
            raise RecorderError("the window is still open; read its figures after its `with` block")
        if not self.recorded:
            raise RecorderError("neither OpenCL nor CUDA was called in this process, so nothing was recorded")
        return self._result

    peak_bytes: int = _figure("peak_bytes", "Max live bytes of allocations that were made in the window.")
    live_at_start_bytes: int = _figure("live_at_start_bytes", "Live bytes of all allocations when the window began.")
    live_peak_bytes: int = _figure("live_peak_bytes", "Max live bytes in the window of all allocations, like the peak of a phase.")
    peak_since_bytes: int = _figure("peak_since_bytes", "Max live bytes of allocations since `since` began; without it, `peak_bytes`.")
    left_bytes: int = _figure("left_bytes", "Bytes of allocations that were made in the window and are live at its end.")
    allocations: int = _figure("allocations", "Number of allocations that were made in the window.")
    total_bytes: int = _figure("total_bytes", "Sum of the bytes of all allocations in the window.")
    failed_allocations: int = _figure("failed_allocations", "Number of requests in the window that the driver refused.")

    def refused(self) -> tuple[Refused, ...]:
        """Returns the requests that the driver refused in the window, the largest first."""
        return tuple(Refused(**one) for one in self._figures["refused"])

    @property
    def pool_reserved_peak_bytes(self) -> int | None:
        """Max bytes that pools of the CUDA driver reserved; None if there were none."""
        reserved = self._figures["pool_reserved_peak_bytes"]
        return None if reserved is None else int(reserved)

    @property
    def beside_the_peak(self) -> dict[str, int]:
        """Peaks of the kinds of memory that are not counted in the peak, such as `host_pointer`."""
        return dict(self._figures["beside_the_peak"])

    @property
    def by_kind(self) -> dict[str, int]:
        """Peaks of each kind of memory that was allocated in the window, also of the kinds that are not counted in the peak."""
        return dict(self._figures["by_kind"])

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the recorder, such as memory that it cannot see."""
        return tuple(self._figures["notes"])

    def at_peak(self) -> tuple[Group, ...]:
        """Returns the allocations of the window that were live at `peak_bytes` (first time), the largest first."""
        return self._groups("at_peak")

    def live_at_peak(self) -> tuple[Group, ...]:
        """Returns all allocations that were live at `live_peak_bytes` (first time)."""
        return self._groups("live_at_peak")

    def since_at_peak(self) -> tuple[Group, ...]:
        """Returns the allocations since `since` that were live at `peak_since_bytes` (first time)."""
        return self._groups("since_at_peak")

    def left(self) -> tuple[Group, ...]:
        """Returns the allocations of `left_bytes`."""
        return self._groups("left")

    def _groups(self, which: str) -> tuple[Group, ...]:
        return tuple(Group(**one) for one in self._figures[which])

    def __repr__(self) -> str:
        if self._result is None:
            return f"<Window {self.name!r}, {'open' if self._region is not None else 'not begun'}>"
        if not self.recorded:
            return f"<Window {self.name!r}, nothing recorded>"
        return f"<Window {self.name!r}, peak {exact_size(self.peak_bytes)}, left {format_size(self.left_bytes)}>"
