"""The hooks that pytest calls, the options, and the fixture `device_memory`."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

from peakmark.pytest_plugin.estimator_causes import cause_lines
from peakmark.pytest_plugin.limits import MARKS
from peakmark.pytest_plugin.measuring import DeviceMemory, Measuring, Settings, is_ci
from peakmark.pytest_plugin.results import report_lines, write_json
from peakmark.recorders import parse_budget, parse_limit
from peakmark.sizes import SizeError, quantity

_MEASURING = pytest.StashKey[Measuring]()

# Each option has a setting in the ini file, with underscores.
_SWITCHES = {
    "device-memory": "report the device memory of each test",
    "device-memory-fail-on-increase": "fail a test if its peak is above that of the last run in which it passed",
    "device-memory-required": "fail a test, instead of skipping it, if its device memory cannot be recorded; default in CI (CI is set)",
    "device-memory-optional": "skip a test in CI, too, if its device memory cannot be recorded",
    "device-memory-sync": "finish a queue after each command, so that peaks do not depend on the speed of the device",
    "device-memory-stacks": "record call stacks, and report the places in the code that allocate",
}
_VALUES = {
    "most-device-memory": ("N", "number of tests in the report, those with the highest peaks (default 5); 0 for all"),
    "device-memory-budget": ("SIZE", "let the tests use only this much memory of each device, such as 16GiB or 90%"),
    "device-memory-max-allocation": ("SIZE", "refuse each allocation of a test that is larger than this, such as 4GiB"),
    "device-memory-json": ("FILE", "write the figures of all measured tests to this file"),
}
DEFAULT_REPORTED = 5


def _add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("device memory", "device memory, recorded by peakmark")
    for option, text in _SWITCHES.items():
        group.addoption(f"--{option}", action="store_true", default=False, help=text)
        parser.addini(_ini_name(option), text, type="bool", default=False)
    for option, (value, text) in _VALUES.items():
        group.addoption(f"--{option}", metavar=value, default=None, help=text)
        parser.addini(_ini_name(option), text, default="")


def _read_settings(config: pytest.Config, options: Any) -> Settings:
    """Returns the settings from the known options and the ini file. Raises UsageError if one is invalid."""

    def switch(option: str) -> bool:
        try:
            return bool(getattr(options, _ini_name(option), False) or config.getini(_ini_name(option)))
        except (ValueError, pytest.UsageError) as error:  # the error of pytest 9 does not name the option
            raise pytest.UsageError(f"{_ini_name(option)} in the ini file: {error}; write true or false") from None

    def value(option: str) -> str:
        given = getattr(options, _ini_name(option), None)
        return str(config.getini(_ini_name(option)) if given is None else given)

    reported = value("most-device-memory") or str(DEFAULT_REPORTED)
    if not (reported.isascii() and reported.isdigit()):
        raise pytest.UsageError(f"--most-device-memory {reported}: write the number of tests to report, 0 for all")

    def limit(option: str, parse: Callable[[str], int]) -> int | None:
        try:
            return parse(value(option)) if value(option) else None
        except SizeError as error:
            raise pytest.UsageError(f"--{option}: {error}") from None

    return Settings(
        report=switch("device-memory"),
        fail_on_increase=switch("device-memory-fail-on-increase"),
        required=switch("device-memory-required") or (is_ci() and not switch("device-memory-optional")),
        sync=switch("device-memory-sync"),
        stacks=switch("device-memory-stacks"),
        budget=limit("device-memory-budget", parse_budget),
        max_allocation=limit("device-memory-max-allocation", parse_limit),
        reported=int(reported),
        json_file=value("device-memory-json"),
    )


def _ini_name(option: str) -> str:
    return option.replace("-", "_")


def pytest_addoption(parser: pytest.Parser) -> None:
    _add_options(parser)


def _runs_no_tests(options: Any) -> bool:
    """Returns whether this is the process of xdist that distributes the tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return False
    return bool(getattr(options, "numprocesses", None) or getattr(options, "tx", None))


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Runs before any conftest or test is imported: they may call OpenCL or CUDA."""
    options = early_config.known_args_namespace
    settings = _read_settings(early_config, options)
    if settings.measures_all and not _runs_no_tests(options):
        Measuring.load_recorders(settings)


def pytest_configure(config: pytest.Config) -> None:
    for text in MARKS.values():
        config.addinivalue_line("markers", text)
    settings = _read_settings(config, config.option)
    config.stash[_MEASURING] = measuring = Measuring(config, settings)
    config.pluginmanager.register(measuring, "peakmark-measuring")
    if not hasattr(config, "workerinput"):
        _check_json_file(settings.json_file)
        config.pluginmanager.register(_Reporting(settings), "peakmark-reporting")


def _check_json_file(json_file: str) -> None:
    """Creates the folder of the file and checks that it is writable, because an error at the end would replace pytest's summary."""
    folder = os.path.dirname(os.path.abspath(json_file)) if json_file else "."
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK) or os.path.isdir(json_file):
            raise OSError(0, "it cannot be written")
    except OSError as error:
        raise pytest.UsageError(f"--device-memory-json {json_file}: {error.strerror}") from error


@pytest.fixture
def device_memory(request: pytest.FixtureRequest) -> Iterator[DeviceMemory]:
    """Measures the device memory of parts of a test: `with device_memory.window("call") as call: ...`."""
    measuring = request.config.stash[_MEASURING]
    measuring.require(request.node)
    with measuring.device_memory(request.node) as memory:
        yield memory


class _Reporting:
    """Collects the results of all tests, also from the workers of xdist."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._tests: dict[str, dict[str, Any]] = {}
        self._skipped: dict[str, int] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> Any:
        if report.failed and getattr(report, "device_memory", {}).get("problem"):
            return "failed", "D", "DEVICE MEMORY PROBLEM"
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and (reason := getattr(report, "without_recorder", None)) is not None:
            self._skipped[reason] = self._skipped.get(reason, 0) + 1
        if report.when == "call" and (result := getattr(report, "device_memory", None)) is not None:
            result["outcome"] = report.outcome  # other plugins may have changed it
            self._tests[report.nodeid] = result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        measured = [(test, result) for test, result in self._tests.items() if result["memory"] is not None]
        if self._settings.report and self._tests:
            self._report(terminalreporter, measured)
        if self._settings.fail_on_increase and measured:
            terminalreporter.write_line(_comparison_summary(measured))
        if causes := cause_lines(self._tests):
            terminalreporter.section("WHY ESTIMATES ARE WRONG")
            for line in causes:
                terminalreporter.write_line(line)
        for reason, tests in self._skipped.items():
            terminalreporter.write_line(
                f"Device memory not recorded, {quantity(tests, 'test')} skipped: {reason}", yellow=True
            )

    def _report(self, terminalreporter: pytest.TerminalReporter, measured: list[tuple[str, dict[str, Any]]]) -> None:
        terminalreporter.section("DEVICE MEMORY REPORT")
        measured.sort(key=lambda one: -one[1]["memory"]["peak_bytes"])
        for test, result in measured[: self._settings.reported or None]:
            for line in report_lines(test, result):
                terminalreporter.write_line(line)
        for reason, tests in self._unmeasured().items():
            terminalreporter.write_line(f"Not measured, {quantity(tests, 'test')}: {reason}")

    def _unmeasured(self) -> dict[str, int]:
        reasons: dict[str, int] = {}
        for result in self._tests.values():
            if (reason := result["not_measured"]) is not None:
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


def _comparison_summary(measured: list[tuple[str, dict[str, Any]]]) -> str:
    """Returns how many tests had an earlier peak. With a new or lost cache, no test can fail."""
    new = sum(result["previous_peak_bytes"] is None for _, result in measured)
    result = f"Device memory compared with the last run that passed: {quantity(len(measured) - new, 'test')}"
    return result + (f"; {quantity(new, 'test')} without an earlier peak" if new else "")
