"""The fixture `device_memory`."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from peakmark.pools import usage_of
from peakmark.recorders import NoRecorder, RecorderError
from peakmark.windows import Window


class TestWindow(Window):
    """Ends a test that has called no device, by what `refuse` makes of the reason: else its figures would be none."""

    __test__ = False  # not a class of tests

    def __init__(self, name: str, memory: DeviceMemory):
        super().__init__(name, memory.pools, memory.set_up)
        self._memory = memory

    def __enter__(self) -> TestWindow:
        try:
            super().__enter__()
        except RecorderError as error:
            self._memory.refuse(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            super().__exit__(kind, error, traceback)
            if not self.recorded:
                raise NoRecorder(nothing_called(f"the window {self.name!r}"))
        except RecorderError as trouble:
            if error is None:
                self._memory.refuse(trouble)


def nothing_called(what: str) -> str:
    return f"neither OpenCL nor CUDA was called up to the end of {what}: nothing was recorded"


class DeviceMemory:
    """Windows of one test, by name."""

    def __init__(self, refuse: Any, set_up: Window | None):
        #: Called with the RecorderError where a window cannot be measured; it skips the test, or fails it.
        self.refuse = refuse
        #: From the test's set-up on, where there is one: what fixtures allocate for the test counts for an estimator.
        self.set_up = set_up
        self.windows: dict[str, Window] = {}
        self.pools: dict[str, Any] = {}

    def window(self, name: str = "window") -> TestWindow:
        """A context manager; its figures (`peak_bytes`, `left_bytes`, `at_peak()`, …) are known when it has ended.

        The last window of a name is the one that stands in the report.
        """
        made = TestWindow(name, self)
        self.windows[name] = made
        return made

    def pool(self, pool: Any, name: str) -> None:
        """Tells of a pool of the program's own, so that messages say what of the bytes it held and did not use.

        Pools of pyopencl, PyCUDA and CuPy; those of CuPy and torch that are the default ones are known without it.
        """
        usage_of(pool, name)
        self.pools[name] = pool
