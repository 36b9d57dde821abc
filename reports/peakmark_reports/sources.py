"""Where a report's figures come from: the commands of `peakmark`, or files that hold what they wrote."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from .errors import InputError
from .history_file import History, load_history, parse_history
from .run_file import Run, RunFileError, parse_run
from .trend_file import Trends, parse_trends

# Nights of a device, back from its newest, in which a suite must have run.
CURRENT_NIGHTS = 30
# `trends` ends with 1 where it found a regression: that is an answer.
ANSWERS = {"history": (0,), "trends": (0, 1)}


class SourceError(InputError):
    """A command of peakmark failed; the message is what it said, `code` its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Sources:
    """A history as series, what trends found in it, and the newest runs: of each suite on each device, by date."""

    history: History
    trends: Trends
    runs: list[Run]


def parse_runs(document: str, name: str) -> list[Run]:
    """The newest runs: a run file, a list of them, or one a line. Raises RunFileError."""
    if not document.strip():
        return []
    try:
        root = json.loads(document)
        roots = root if isinstance(root, list) else [root]
    except json.JSONDecodeError:
        try:
            roots = [json.loads(line) for line in document.splitlines() if line.strip()]
        except json.JSONDecodeError as error:
            raise RunFileError(f"{name}: not JSON, or cut short: {error}") from error
    return [parse_run(one, name) for one in roots]


@contextmanager
def _lines(peakmark: str, arguments: list[str], history: str | None) -> Iterator[TextIO]:
    """The lines that it prints, as they come: a year of many cases is large."""
    # Not an argument: everybody can read those, and a URL may hold a password.
    environment = os.environ | ({"PEAKMARK_HISTORY": history} if history else {})
    # Not a pipe: what it says while nobody reads must not hold it.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        try:
            process = subprocess.Popen(
                [peakmark, *arguments], stdout=subprocess.PIPE, stderr=said, text=True, encoding="utf-8",
                errors="replace", env=environment,
            )
        except OSError as error:
            raise SourceError(f"{peakmark} cannot be started: {error.strerror}", 2) from error
        with process:
            try:
                yield process.stdout
            finally:
                # Lines that came before it failed may be cut short: its own words come first.
                process.stdout.read()
                code = process.wait()
                if code not in ANSWERS[arguments[0]]:
                    said.seek(0)
                    words = said.read().strip().removeprefix("peakmark: ") or f"exit code {code}"
                    raise SourceError(f"peakmark {' '.join(arguments)}: {words}", max(code, 2))


def _is_current(run: Run, history: History) -> bool:
    """A suite that nobody has run for long says nothing of now."""
    for device in history.devices:
        at = device.place_of.get(run.context.get("id"))
        if at is not None:
            return at >= len(device.nights) - CURRENT_NIGHTS
    return True


def ask_peakmark(peakmark: str, history: str | None, allow_growth: str | None = None) -> Sources:
    """Asks the program for all three; `allow_growth` is for `trends`. Raises SourceError, and what parsing raises."""
    with _lines(peakmark, ["history", "export", "--format", "series"], history) as lines:
        found = parse_history(lines, "history export --format series")
    if not found.devices:
        return Sources(found, Trends(), [])
    allowance = [f"--allow-growth={allow_growth}"] if allow_growth else []
    with _lines(peakmark, ["trends", "--json", *allowance], history) as lines:
        trends = parse_trends(lines.read(), "trends --json")
    with _lines(peakmark, ["history", "export", "--run", "latest", "--format", "run"], history) as lines:
        runs = parse_runs(lines.read(), "history export --run latest --format run")
    return Sources(found, trends, [run for run in runs if _is_current(run, found)])


def read_files(series: Path, trends: Path | None, runs: list[Path]) -> Sources:
    """Reads what the commands wrote before. Raises OSError, and what parsing raises."""
    found = Trends() if trends is None else parse_trends(trends.read_text(encoding="utf-8"), str(trends))
    loaded = [run for path in runs for run in parse_runs(path.read_text(encoding="utf-8"), str(path))]
    return Sources(load_history(series), found, loaded)
