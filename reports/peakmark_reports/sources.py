"""Where a report's figures come from: the commands of `peakmark`, or files that hold what they wrote."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import InputError
from .history_file import History, load_history, parse_history
from .run_file import Run, RunFileError, parse_run
from .trend_file import Trends, parse_trends

# `trends` ends with 1 where it found a regression: that is an answer.
ANSWERS = {"history": (0,), "trends": (0, 1)}


class SourceError(InputError):
    """A command of peakmark failed; the message is what it said, `code` its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Sources:
    """A history as series, what trends found in it, and the newest run of each device."""

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


def _answer(peakmark: str, arguments: list[str], history: str | None) -> str:
    command = [peakmark, *arguments, *(["--history", history] if history else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace", check=False)
    except OSError as error:
        raise SourceError(f"{peakmark} cannot be started: {error.strerror}", 2) from error
    if done.returncode not in ANSWERS[arguments[0]]:
        said = done.stderr.strip().removeprefix("peakmark: ") or f"exit code {done.returncode}"
        raise SourceError(f"peakmark {' '.join(arguments)}: {said}", max(done.returncode, 2))
    return done.stdout


def ask_peakmark(peakmark: str, history: str | None) -> Sources:
    """Asks the program for all three. Raises SourceError, and what parsing raises."""
    series = _answer(peakmark, ["history", "export", "--format", "series"], history)
    found = parse_history(series.splitlines(), "history export --format series")
    if not found.devices:
        return Sources(found, Trends(), [])
    trends = _answer(peakmark, ["trends", "--json"], history)
    runs = _answer(peakmark, ["history", "export", "--run", "latest", "--format", "run"], history)
    return Sources(
        found, parse_trends(trends, "trends --json"), parse_runs(runs, "history export --run latest --format run")
    )


def read_files(series: Path, trends: Path | None, runs: list[Path]) -> Sources:
    """Reads what the commands wrote before. Raises OSError, and what parsing raises."""
    found = Trends() if trends is None else parse_trends(trends.read_text(encoding="utf-8"), str(trends))
    loaded = [run for path in runs for run in parse_runs(path.read_text(encoding="utf-8"), str(path))]
    return Sources(load_history(series), found, loaded)
