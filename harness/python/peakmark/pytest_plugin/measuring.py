"""Measures tests, in the process that runs them."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

import pytest

from peakmark import marks, recorders
from peakmark.pytest_plugin.limits import Limits, MarkError, judge, listed, read_limits
from peakmark.pytest_plugin.results import window_result
from peakmark.recorders import NoRecorder, RecorderError, RecorderTooLate
from peakmark.repetitions import Repetitions, repeat
from peakmark.sizes import exact_size
from peakmark.windows import Window, pool_usage


@dataclass(frozen=True)
class Settings:
    report: bool
    fail_on_increase: bool
    required: bool
    sync: bool
    stacks: bool
    budget: int | None  # bytes that the tests may use on each device
    max_allocation: int | None  # bytes of the largest allocation that they may make
    reported: int  # tests in the report; 0: all
    json_file: str

    @property
    def measures_all(self) -> bool:
        return self.report or self.fail_on_increase or bool(self.json_file) or self.budget is not None or self.max_allocation is not None

    def load_recorders(self) -> None:
        recorders.load(sync=self.sync, stacks=self.stacks, budget=self.budget, max_allocation=self.max_allocation)


def is_ci() -> bool:
    """Returns whether this runs in CI: GitHub, GitLab and others set CI to `true`."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


class TestWindow(Window):
    """A window of a test. If it cannot record or no device was called, `refuse` ends the test with the reason."""

    __test__ = False  # pytest must not collect this class

    def __init__(self, name: str, memory: DeviceMemory):
        super().__init__(name, memory.pools, memory.setup)
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
        except RecorderError as failure:
            if error is None:
                self._memory.refuse(failure)


def nothing_called(what: str) -> str:
    return f"neither OpenCL nor CUDA was called up to the end of {what}, so nothing was recorded"


class DeviceMemory:
    """The fixture `device_memory`: windows of one test, by name."""

    def __init__(self, refuse: Any, setup: Window | None):
        #: Called with the RecorderError of a window that cannot be measured; skips or fails the test.
        self.refuse = refuse
        #: The window of the test's setup, if any. For estimators, allocations of the test's fixtures count.
        self.setup = setup
        self.windows: dict[str, Window] = {}
        self.pools: dict[str, Any] = {}

    def window(self, name: str = "window") -> TestWindow:
        """Returns a context manager. Read its figures (`peak_bytes`, `left_bytes`, `at_peak()`, …) after it has ended.

        The report has the last window of each name.
        """
        made = TestWindow(name, self)
        self.windows[name] = made
        return made

    def repeat(self, function: Callable[[], Any], calls: int = 8) -> Repetitions:
        """Calls the function `calls` times, and returns the memory that the calls leave behind (`leaks`, `growth`, `live_after_bytes`, …)."""
        return repeat(function, calls)

    def pool(self, pool: Any, name: str) -> None:
        """Adds a pool of pyopencl, PyCUDA or CuPy, so that messages report how many bytes it holds and uses.

        The default pools of CuPy and torch are always reported.
        """
        pool_usage(pool, name)
        self.pools[name] = pool


_FIXTURE = pytest.StashKey[DeviceMemory]()
_SETUP = pytest.StashKey[Window]()
_RESULT = pytest.StashKey[dict[str, Any]]()
_REPETITIONS = pytest.StashKey[Repetitions]()
_CACHE = "peakmark/device_memory"


def fail_with(outcome: Any, error: BaseException) -> None:
    """Makes this error the outcome of a wrapped hook."""
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(error)
    else:  # with pluggy before 1.1, this is the only way in which the other wrappers still run to their end
        outcome._excinfo = (type(error), error, error.__traceback__)


def valid_peaks(kept: Any) -> dict[str, int]:
    """Returns the valid peaks by test of pytest's cache, since its file may be damaged."""
    if not isinstance(kept, dict):
        return {}
    return {test: peak for test, peak in kept.items() if type(peak) is int and peak >= 0}


class Measuring:
    def __init__(self, config: pytest.Config, settings: Settings):
        self._settings = settings
        self._in_setup: pytest.Item | None = None
        self._previous: dict[str, int] = {}
        if settings.fail_on_increase:
            if (cache := getattr(config, "cache", None)) is None:
                raise pytest.UsageError(
                    "--device-memory-fail-on-increase needs pytest's cache, which is disabled; remove -p no:cacheprovider"
                )
            self._previous = valid_peaks(cache.get(_CACHE, {}))

    @staticmethod
    def load_recorders(settings: Settings) -> None:
        """Loads the recorders. Does not fail without them; each test that needs one is skipped or fails."""
        with contextlib.suppress(NoRecorder):
            settings.load_recorders()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if any(self._needs_recorder(item) for item in session.items):
            self.load_recorders(self._settings)
            # Excludes objects of imports, which stay alive, from the collections at the ends of each window. With large
            # packages, these collections would take longer than most tests.
            # If the session has done so already, its choice stays. Python 3.12 counts its few immortal objects as frozen.
            if gc.get_freeze_count() < len(gc.get_objects()):
                gc.collect()
                gc.freeze()
                session.config.add_cleanup(gc.unfreeze)

    def _needs_recorder(self, item: pytest.Item) -> bool:
        if self._settings.measures_all or "device_memory" in getattr(item, "fixturenames", ()):
            return True
        try:
            return bool(read_limits(item))
        except MarkError:
            return False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Reports an invalid mark as an error of the test, before it runs."""
        wrong = ""
        self._in_setup = None
        try:
            if read_limits(item).estimators:
                self._in_setup = item
        except MarkError as error:
            wrong = str(error)
        if wrong:
            pytest.fail(wrong, pytrace=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        """Opens the setup window at the first fixture of function scope. Fixtures of wider scopes run before and are not
    measured with the test, since the order of tests decides which test runs them."""
        if self._in_setup is None or fixturedef.scope != "function":
            return
        item, self._in_setup = self._in_setup, None
        with contextlib.suppress(RecorderError):  # pytest_runtest_call reports it
            self._settings.load_recorders()
            item.stash[_SETUP] = Window("setup").__enter__()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if (window := item.stash.get(_SETUP, None)) is not None:
            with contextlib.suppress(RecorderError):
                window.__exit__(None, None, None)

    def refuse(self, error: RecorderError) -> NoReturn:
        """Skips the test if there is no recorder; fails it if the recorder is too late or incomplete."""
        why = f"device memory is not recorded: {self._reason(error)}"
        # `from None` in both cases, because `why` has the text of the error.
        if isinstance(error, NoRecorder) and not self._settings.required:
            skipped = pytest.skip.Exception(why)
            skipped._use_item_location = True  # report the line of the test, not this one
            setattr(skipped, "without_recorder", str(error))  # setattr: Skipped does not declare it
            raise skipped from None
        if isinstance(error, NoRecorder) and is_ci():
            why += " (this fails in CI, so that no test passes unmeasured; --device-memory-optional skips the test)"
        raise pytest.fail.Exception(why, pytrace=False) from None

    def _reason(self, error: RecorderError) -> str:
        if not isinstance(error, RecorderTooLate):
            return str(error)
        if self._settings.measures_all:
            return f"{error.fact}, probably by another plugin. Run the tests with `peakmark record -- python -m pytest`"
        return (
            f"{error.fact}. With marks only, the recorder is loaded after all tests are imported. Set `device_memory = true` "
            "in pytest's ini file, or use --device-memory, to load it before"
        )

    def require(self, item: pytest.Item) -> None:
        try:
            self._settings.load_recorders()
            recorders.require_recorders()
        except RecorderError as error:
            self.refuse(error)

    @contextlib.contextmanager
    def device_memory(self, item: pytest.Item) -> Iterator[DeviceMemory]:
        item.stash[_FIXTURE] = memory = DeviceMemory(self.refuse, item.stash.get(_SETUP, None))
        yield memory

    # The innermost wrapper (trylast), so that the window has as little as possible of other plugins. Uses the old style of
    # wrappers, which must not raise after `yield`, because pluggy has the new style only since 1.2.
    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        self._in_setup = None
        try:
            limits = read_limits(item)
        except MarkError as error:  # a mark that a fixture has added; pytest_runtest_setup has checked the others
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        has_fixture = _FIXTURE in item.stash
        if not (limits or has_fixture or self._settings.measures_all):
            yield
            return
        result: dict[str, Any] = {
            "outcome": None,
            "problem": False,
            "not_measured": None,
            "previous_peak_bytes": self._previous.get(item.nodeid),
            "memory": None,
            "windows": [],
            "estimates": [],
        }
        item.stash[_RESULT] = result
        window = Window("test", since=item.stash.get(_SETUP, None))
        try:
            self._settings.load_recorders()
            window.__enter__()
        except RecorderError as error:
            result["not_measured"] = str(error)
            if limits:
                self.refuse(error)
            yield
            return
        memory = item.stash[_FIXTURE] if has_fixture else DeviceMemory(self.refuse, None)
        window.program_pools = memory.pools
        with self._phase(item), self._repeated(item, limits.calls):
            outcome = yield
        try:
            failure = self._end(window, memory, result, item.nodeid)
            # A failure of the test itself has priority. unittest keeps it in the item.
            if outcome.excinfo is not None or getattr(item, "_excinfo", None):
                return
            if failure is None:
                self._judge(item, limits, window, memory, result)
            elif limits:
                self.refuse(failure)
        except BaseException as error:  # noqa: BLE001 - outcomes of pytest derive from BaseException
            fail_with(outcome, error)

    @contextlib.contextmanager
    def _repeated(self, item: Any, calls: int) -> Iterator[None]:
        """Lets pytest call the test function `calls` times."""
        if calls == 1:
            yield
            return
        function = item.obj

        @functools.wraps(function)
        def repeated(*arguments: Any, **named: Any) -> None:
            with contextlib.suppress(NoRecorder):  # the window of the test reports it
                item.stash[_REPETITIONS] = repeat(lambda: function(*arguments, **named), calls)

        item.obj = repeated
        try:
            yield
        finally:
            item.obj = function

    @staticmethod
    def _phase(item: pytest.Item) -> contextlib.AbstractContextManager[None]:
        """Makes the test a phase under `peakmark record`, so that `peakmark show` prints its peak."""
        return contextlib.nullcontext() if recorders.is_requested_here() else marks.phase(item.nodeid)

    @staticmethod
    def _end(window: Window, memory: DeviceMemory, result: dict[str, Any], test: str) -> RecorderError | None:
        try:
            window.__exit__(None, None, None)
            if not window.recorded:
                raise NoRecorder(nothing_called("the test"))
        except RecorderError as error:
            result["not_measured"] = str(error)
            return error
        result["memory"] = window_result(window, test)
        result["windows"] = [window_result(one, test) for one in memory.windows.values() if one.recorded]
        return None

    def _judge(
        self, item: pytest.Item, limits: Limits, window: Window, memory: DeviceMemory, result: dict[str, Any]
    ) -> None:
        item.user_properties.append(("device_memory_peak_bytes", window.peak_bytes))
        item.user_properties.append(("device_memory_left_bytes", window.left_bytes))
        windows = {name: one for name, one in memory.windows.items() if one.recorded}
        judgement = judge(limits, window, windows, getattr(item, "funcargs", {}), item.stash.get(_REPETITIONS, None))
        found, result["estimates"] = judgement.problems, judgement.estimates
        before = result["previous_peak_bytes"]
        if before is not None and window.peak_bytes > before:
            found.append(
                f"{exact_size(window.peak_bytes)} of device memory at the peak, {exact_size(before)} in the last run in "
                "which it passed\n" + listed("Live at the peak:", window.at_peak(), window.pools)
            )
        if found:
            result["problem"] = True
            pytest.fail("\n\n".join(found), pytrace=False)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        outcome = yield
        reason = getattr(call.excinfo.value, "without_recorder", None) if call.excinfo is not None else None
        if reason is not None and outcome.excinfo is None:
            outcome.get_result().without_recorder = reason
        if outcome.excinfo is not None or call.when != "call" or (result := item.stash.get(_RESULT, None)) is None:
            return
        if result["memory"] is not None or result["not_measured"] is not None:  # else the report is of a subtest
            outcome.get_result().device_memory = result

    def remember(self, cache: pytest.Cache, tests: dict[str, dict[str, Any]]) -> None:
        """Stores the peaks of the tests that passed in pytest's cache."""
        passed = {
            test: result["memory"]["peak_bytes"]
            for test, result in tests.items()
            if result["memory"] is not None and result["outcome"] == "passed"
        }
        cache.set(_CACHE, self._previous | passed)
