"""What pytest calls, and the fixture."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from peakmark.pytest_plugin.fixture import DeviceMemory
from peakmark.pytest_plugin.limits import MARKS
from peakmark.pytest_plugin.measuring import Measuring
from peakmark.pytest_plugin.results import report_lines, write_json
from peakmark.pytest_plugin.settings import Settings, add_options, settings_of

_MEASURING = pytest.StashKey[Measuring]()


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def _runs_no_tests(options: Any) -> bool:
    """In the process of xdist that hands tests out."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return False
    return bool(getattr(options, "numprocesses", None) or getattr(options, "tx", None))


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest or test is imported: they may call OpenCL or CUDA."""
    options = early_config.known_args_namespace
    settings = settings_of(early_config, options)
    if settings.measures_all and not _runs_no_tests(options):
        Measuring.load_recorders(settings)


def pytest_configure(config: pytest.Config) -> None:
    for text in MARKS.values():
        config.addinivalue_line("markers", text)
    settings = settings_of(config, config.option)
    config.stash[_MEASURING] = measuring = Measuring(config, settings)
    config.pluginmanager.register(measuring, "peakmark-measuring")
    if not hasattr(config, "workerinput"):
        _check_place_of_json(settings.json_file)
        config.pluginmanager.register(_Reporting(settings), "peakmark-reporting")


def _check_place_of_json(json_file: str) -> None:
    """Makes its folder. At the end a message would come in the place of pytest's own summary."""
    folder = os.path.dirname(os.path.abspath(json_file)) if json_file else "."
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK) or os.path.isdir(json_file):
            raise OSError(0, "it cannot be written")
    except OSError as error:
        raise pytest.UsageError(f"--device-memory-json {json_file}: {error.strerror}") from error


@pytest.fixture
def device_memory(request: pytest.FixtureRequest) -> Iterator[DeviceMemory]:
    """Windows on the device memory of a part of a test: `with device_memory.window("call") as call: ...`."""
    measuring = request.config.stash[_MEASURING]
    measuring.require(request.node)
    with measuring.fixture_of(request.node) as memory:
        yield memory


class _Reporting:
    """Where the results of all tests come together, xdist's too."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._tests: dict[str, dict[str, Any]] = {}
        self._skipped: dict[str, int] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> Any:
        if report.failed and getattr(report, "device_memory", {}).get("problem"):
            return "failed", "D", "DEVICE MEMORY PROBLEM"  # in red, as it has failed
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and (reason := getattr(report, "without_recorder", None)) is not None:
            self._skipped[reason] = self._skipped.get(reason, 0) + 1
        if report.when == "call" and (told := getattr(report, "device_memory", None)) is not None:
            told["outcome"] = report.outcome  # which other plugins may have changed
            self._tests[report.nodeid] = told

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        measured = [(test, told) for test, told in self._tests.items() if told["memory"] is not None]
        if self._settings.report and self._tests:
            self._report(terminalreporter, measured)
        if self._settings.fail_on_increase and measured:
            terminalreporter.write_line(_compared(measured))
        for reason, tests in self._skipped.items():
            terminalreporter.write_line(
                f"Device memory not recorded, {tests} test{'' if tests == 1 else 's'} skipped: {reason}", yellow=True
            )

    def _report(self, terminalreporter: pytest.TerminalReporter, measured: list[tuple[str, dict[str, Any]]]) -> None:
        terminalreporter.section("DEVICE MEMORY REPORT")
        measured.sort(key=lambda one: -one[1]["memory"]["peak_bytes"])
        for test, told in measured[: self._settings.most or None]:
            for line in report_lines(test, told):
                terminalreporter.write_line(line)
        for reason, tests in self._unmeasured().items():
            terminalreporter.write_line(f"Not measured, {tests} test{'' if tests == 1 else 's'}: {reason}")

    def _unmeasured(self) -> dict[str, int]:
        reasons: dict[str, int] = {}
        for told in self._tests.values():
            if (reason := told["not_measured"]) is not None:
                reasons[reason] = reasons.get(reason, 0) + 1
        return reasons

    @pytest.hookimpl(hookwrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, None]:
        if self._settings.json_file:
            try:
                with open(self._settings.json_file, "w", encoding="utf-8") as file:
                    write_json(file, self._tests)
            except OSError as error:
                raise pytest.UsageError(f"--device-memory-json {self._settings.json_file}: {error.strerror}") from error
        if self._settings.fail_on_increase and session.config.cache is not None:
            session.config.stash[_MEASURING].remember(session.config.cache, self._tests)
        yield


def _compared(measured: list[tuple[str, dict[str, Any]]]) -> str:
    """Where the cache is new or was lost nothing can fail, and that is to be seen."""
    new = sum(told["previous_peak_bytes"] is None for _, told in measured)
    old = len(measured) - new
    told = f"Device memory was held against the last run that passed: {old} test{'' if old == 1 else 's'}"
    return told + (f"; {new} more {'has' if new == 1 else 'have'} no peak of before" if new else "")
