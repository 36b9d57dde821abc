"""What the command line and the ini file ask for: each option has a twin in the ini file, with underscores."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pytest

_SWITCHES = {
    "device-memory": "report the device memory that each test takes",
    "device-memory-fail-on-increase": "fail a test whose peak is above that of the last run in which it passed",
    "device-memory-required": "fail a test, instead of skipping it, where its device memory cannot be recorded: so in CI",
    "device-memory-optional": "skip such a test in CI too, where the environment variable CI is set",
    "device-memory-sync": "finish a queue after each command, so that peaks do not depend on how fast the device is",
    "device-memory-stacks": "record call stacks, and name the places that asked for memory",
}
_VALUES = {
    "most-device-memory": ("N", "how many tests the report shows, those with the highest peaks (5); 0 for all"),
    "device-memory-json": ("FILE", "write the figures of all tests that were measured into this file"),
}
DEFAULT_MOST = 5


@dataclass(frozen=True)
class Settings:
    report: bool
    fail_on_increase: bool
    required: bool
    sync: bool
    stacks: bool
    most: int
    json_file: str

    @property
    def measures_all(self) -> bool:
        return self.report or self.fail_on_increase or bool(self.json_file)


def is_ci() -> bool:
    """Whether a CI runs this: GitHub, GitLab and others set CI to `true`."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("device memory", "device memory, recorded by peakmark")
    for option, text in _SWITCHES.items():
        group.addoption(f"--{option}", action="store_true", default=False, help=text)
        parser.addini(_name(option), text, type="bool", default=False)
    for option, (value, text) in _VALUES.items():
        group.addoption(f"--{option}", metavar=value, default=None, help=text)
        parser.addini(_name(option), text, default="")


def settings_of(config: pytest.Config, options: Any) -> Settings:
    """`options` are those that are known when this is asked. Raises UsageError where one makes no sense."""

    def switch(option: str) -> bool:
        try:
            return bool(getattr(options, _name(option), False) or config.getini(_name(option)))
        except (ValueError, pytest.UsageError) as error:  # pytest 9's does not say which option it is
            raise pytest.UsageError(f"{_name(option)} in the ini file: {error}; write true or false") from None

    def value(option: str) -> str:
        given = getattr(options, _name(option), None)
        return str(config.getini(_name(option)) if given is None else given)

    most = value("most-device-memory") or str(DEFAULT_MOST)
    if not (most.isascii() and most.isdigit()):
        raise pytest.UsageError(f"--most-device-memory {most}: write how many tests to show, 0 for all")
    return Settings(
        report=switch("device-memory"),
        fail_on_increase=switch("device-memory-fail-on-increase"),
        required=switch("device-memory-required") or (is_ci() and not switch("device-memory-optional")),
        sync=switch("device-memory-sync"),
        stacks=switch("device-memory-stacks"),
        most=int(most),
        json_file=value("device-memory-json"),
    )


def _name(option: str) -> str:
    return option.replace("-", "_")
