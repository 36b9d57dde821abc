"""Measures tests, in the process that runs them."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator, Iterator
from typing import Any, NoReturn

import pytest

from peakmark import marks, recorders
from peakmark.pytest_plugin.fixture import DeviceMemory, nothing_called
from peakmark.pytest_plugin.limits import Limits, MarkError, limits_of, listed, problems
from peakmark.pytest_plugin.results import result_of
from peakmark.pytest_plugin.settings import Settings, is_ci
from peakmark.recorders import NoRecorder, RecorderError, RecorderTooLate
from peakmark.sizes import exact_size
from peakmark.windows import Window

_FIXTURE = pytest.StashKey[DeviceMemory]()
_SET_UP = pytest.StashKey[Window]()
_TOLD = pytest.StashKey[dict[str, Any]]()
_CACHE = "peakmark/device_memory"


def fail_with(outcome: Any, error: BaseException) -> None:
    """Makes this error the outcome of a hook that is wrapped."""
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(error)
    else:  # pluggy before 1.1, which has no other way that leaves the other wrappers their ends
        outcome._excinfo = (type(error), error, error.__traceback__)


def peaks_of_before(kept: Any) -> dict[str, int]:
    """By test, of what pytest's cache has: its file may be damaged, or somebody else's."""
    if not isinstance(kept, dict):
        return {}
    return {test: peak for test, peak in kept.items() if type(peak) is int and peak >= 0}


class Measuring:
    def __init__(self, config: pytest.Config, settings: Settings):
        self._settings = settings
        self._in_set_up: pytest.Item | None = None
        self._before: dict[str, int] = {}
        if settings.fail_on_increase:
            if (cache := getattr(config, "cache", None)) is None:
                raise pytest.UsageError(
                    "--device-memory-fail-on-increase keeps peaks in pytest's cache, and it is switched off: leave out "
                    "-p no:cacheprovider"
                )
            self._before = peaks_of_before(cache.get(_CACHE, {}))

    @staticmethod
    def load_recorders(settings: Settings) -> None:
        """Where there are none, each test that needs one says so."""
        with contextlib.suppress(NoRecorder):
            recorders.load(sync=settings.sync, stacks=settings.stacks)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if any(self._needs_recorder(item) for item in session.items):
            self.load_recorders(self._settings)
            # What the imports have made lives on. Left out of the collections at each edge of a window, which would
            # take longer than most tests where large packages are imported.
            if gc.get_freeze_count() == 0:
                gc.collect()
                gc.freeze()
                session.config.add_cleanup(gc.unfreeze)

    def _needs_recorder(self, item: pytest.Item) -> bool:
        if self._settings.measures_all or "device_memory" in getattr(item, "fixturenames", ()):
            return True
        try:
            return bool(limits_of(item))
        except MarkError:
            return False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """A mark that cannot be followed is an error of the test, before it runs."""
        wrong = ""
        self._in_set_up = None
        try:
            if limits_of(item).estimators:
                self._in_set_up = item
        except MarkError as error:
            wrong = str(error)
        if wrong:
            pytest.fail(wrong, pytrace=False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        """What a test's own fixtures allocate is its input. Those of wider scopes, which come first, are not its own: it
        would depend on the order of the tests which of them has them."""
        if self._in_set_up is None or fixturedef.scope != "function":
            return
        item, self._in_set_up = self._in_set_up, None
        with contextlib.suppress(RecorderError):  # the call says so
            recorders.load(sync=self._settings.sync, stacks=self._settings.stacks)
            item.stash[_SET_UP] = Window("set-up").__enter__()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if (window := item.stash.get(_SET_UP, None)) is not None:
            with contextlib.suppress(RecorderError):
                window.__exit__(None, None, None)

    def refuse(self, error: RecorderError) -> NoReturn:
        """Where there is no recorder a test is skipped; one that came too late, or was cut short, fails."""
        why = f"device memory is not recorded: {self._told(error)}"
        # Without the error that it is about, which says the same.
        if isinstance(error, NoRecorder) and not self._settings.required:
            skipped = pytest.skip.Exception(why)
            skipped._use_item_location = True  # where the test is, and not this line
            setattr(skipped, "without_recorder", str(error))  # Skipped declares no attribute of its own
            raise skipped from None
        if isinstance(error, NoRecorder) and is_ci():
            why += " (in CI this fails, so that nothing passes unmeasured; --device-memory-optional skips the test)"
        raise pytest.fail.Exception(why, pytrace=False) from None

    def _told(self, error: RecorderError) -> str:
        if not isinstance(error, RecorderTooLate):
            return str(error)
        if self._settings.measures_all:
            return f"{error.fact}, by a plugin it seems. Run the tests by `peakmark record -- python -m pytest`"
        return (
            f"{error.fact}: with marks alone it comes in when all tests have been imported, and one of them calls it then. "
            "Set `device_memory = true` in pytest's ini file, or give --device-memory: then it is there before"
        )

    def require(self, item: pytest.Item) -> None:
        try:
            recorders.load(sync=self._settings.sync, stacks=self._settings.stacks)
            recorders.require_loaded()
        except RecorderError as error:
            self.refuse(error)

    @contextlib.contextmanager
    def fixture_of(self, item: pytest.Item) -> Iterator[DeviceMemory]:
        item.stash[_FIXTURE] = memory = DeviceMemory(self.refuse, item.stash.get(_SET_UP, None))
        yield memory

    # The last of the wrappers: as little as may be of other plugins is in the window. Wrappers are of the older kind, which
    # every pytest knows (pluggy has the other since 1.2): none of them may raise after its `yield`.
    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        self._in_set_up = None
        try:
            limits = limits_of(item)
        except MarkError as error:  # of a fixture's making: the others were looked at before
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        has_fixture = _FIXTURE in item.stash
        if not (limits or has_fixture or self._settings.measures_all):
            yield
            return
        told: dict[str, Any] = {
            "outcome": None,
            "problem": False,
            "not_measured": None,
            "previous_peak_bytes": self._before.get(item.nodeid),
            "memory": None,
            "windows": [],
        }
        item.stash[_TOLD] = told
        window = Window("test", since=item.stash.get(_SET_UP, None))
        try:
            recorders.load(sync=self._settings.sync, stacks=self._settings.stacks)
            window.__enter__()
        except RecorderError as error:
            told["not_measured"] = str(error)
            if limits:
                self.refuse(error)
            yield
            return
        memory = item.stash[_FIXTURE] if has_fixture else DeviceMemory(self.refuse, None)
        window.pools_of_the_program = memory.pools
        with self._phase(item):
            outcome = yield
        try:
            trouble = self._end(window, memory, told, item.nodeid)
            # The test's own failure is what counts; unittest keeps it to itself.
            if outcome.excinfo is not None or getattr(item, "_excinfo", None):
                return
            if trouble is None:
                self._judge(item, limits, window, memory, told)
            elif limits:
                self.refuse(trouble)
        except BaseException as error:  # noqa: BLE001 - pytest's own outcomes are such, and it takes any
            fail_with(outcome, error)

    @staticmethod
    def _phase(item: pytest.Item) -> contextlib.AbstractContextManager[None]:
        """Under `peakmark record` a test is a phase, so that `peakmark show` tells its peak."""
        return contextlib.nullcontext() if recorders.is_loaded_here() else marks.phase(item.nodeid)

    @staticmethod
    def _end(window: Window, memory: DeviceMemory, told: dict[str, Any], test: str) -> RecorderError | None:
        try:
            window.__exit__(None, None, None)
            if not window.recorded:
                raise NoRecorder(nothing_called("the test"))
        except RecorderError as error:
            told["not_measured"] = str(error)
            return error
        told["memory"] = result_of(window, test)
        told["windows"] = [result_of(one, test) for one in memory.windows.values() if one.recorded]
        return None

    def _judge(
        self, item: pytest.Item, limits: Limits, window: Window, memory: DeviceMemory, told: dict[str, Any]
    ) -> None:
        item.user_properties.append(("device_memory_peak_bytes", window.peak_bytes))
        item.user_properties.append(("device_memory_left_bytes", window.left_bytes))
        windows = {name: one for name, one in memory.windows.items() if one.recorded}
        found = problems(limits, window, windows, getattr(item, "funcargs", {}))
        before = told["previous_peak_bytes"]
        if before is not None and window.peak_bytes > before:
            found.append(
                f"{exact_size(window.peak_bytes)} of device memory at the peak, {exact_size(before)} in the last run in "
                "which it passed\n" + listed("Live at the peak:", window.at_peak(), window.pools)
            )
        if found:
            told["problem"] = True
            pytest.fail("\n\n".join(found), pytrace=False)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        outcome = yield
        reason = getattr(call.excinfo.value, "without_recorder", None) if call.excinfo is not None else None
        if reason is not None and outcome.excinfo is None:
            outcome.get_result().without_recorder = reason
        if outcome.excinfo is not None or call.when != "call" or (told := item.stash.get(_TOLD, None)) is None:
            return
        if told["memory"] is not None or told["not_measured"] is not None:  # else it is a part of a test that still runs
            outcome.get_result().device_memory = told

    def remember(self, cache: pytest.Cache, tests: dict[str, dict[str, Any]]) -> None:
        """The peaks of those that passed."""
        passed = {
            test: told["memory"]["peak_bytes"]
            for test, told in tests.items()
            if told["memory"] is not None and told["outcome"] == "passed"
        }
        cache.set(_CACHE, self._before | passed)
