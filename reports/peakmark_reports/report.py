"""`peakmark report`: pages and CI reports, from a history or from files that peakmark wrote."""

from __future__ import annotations

import argparse
import fnmatch
import gc
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from .assessment import Assessment, assess
from .ci_forms import benchmark_action, code_quality, metrics_report
from .common import InputError
from .formula_table import FormulaRow, parse_formulas
from .history_file import MAX_RUNS, History, load_history, parse_history
from .run_file import Run, RunFileError, parse_run
from .trend_file import Trends, no_trends, parse_trends

# The key of a run file that `explain` needs.
HAS_SEQUENCES = '"allocation_sequence"'
# `trends` exits with 1 if it finds a regression, `explain` if bytes have no formula, `check` and `compare` with the verdict.
SUCCESS_CODES = {"history": (0,), "trends": (0, 1, 4), "explain": (0, 1), "check": (0, 1, 3, 4), "compare": (0, 1, 3, 4)}


class SourceError(InputError):
    """A command of peakmark failed; has its message and exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Sources:
    """A history as series, its trends, the newest run of each suite on each device, by date, and the formulas of those runs
    that have allocation sequences. `branches`: history and trends of each further branch."""

    history: History
    trends: Trends
    runs: list[Run]
    formulas: list[FormulaRow] = field(default_factory=list)
    branches: list[tuple[History, Trends]] = field(default_factory=list)


def parse_runs(document: str, name: str) -> list[Run]:
    """Parses a run file, a list of run files, or one per line. Raises RunFileError."""
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
def _without_collection() -> Iterator[None]:
    """Suspends the search for cycles, which takes as long as the rest while many objects are made."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _lines(peakmark: str, arguments: list[str], history: str | None) -> Iterator[TextIO]:
    """Yields the output line by line: a year of many cases is large."""
    # Not an argument, which other users can read: a URL may contain a password.
    environment = os.environ | ({"PEAKMARK_HISTORY": history} if history else {})
    # A file instead of a pipe, so that the process does not wait for a reader.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        try:
            process = subprocess.Popen(
                [peakmark, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True, encoding="utf-8",
                errors="replace", env=environment,
            )
        except OSError as error:
            raise SourceError(f"{peakmark} cannot be started: {error.strerror}", 2) from error
        with process:
            try:
                yield process.stdout
            finally:
                # Output before a failure may be incomplete: report the error of the process first.
                process.stdout.read()
                code = process.wait()
                if code not in SUCCESS_CODES[arguments[0]]:
                    errors.seek(0)
                    message = errors.read().strip().removeprefix("peakmark: ") or f"exit code {code}"
                    raise SourceError(f"peakmark {' '.join(arguments)}: {message}", max(code, 2))


def _explain(peakmark: str, document: str, device: str) -> list[FormulaRow]:
    """Returns the formulas of a run. Raises SourceError, and what parsing raises."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run.json"
        run.write_text(document, encoding="utf-8")
        with _lines(peakmark, ["explain", str(run), "--json"], None) as lines:
            return parse_formulas(lines.read(), "explain --json", device)


def _query_trends(
    pool: Executor, peakmark: str, history: str | None, options: list[str]
) -> tuple[History, Callable[[], Trends]]:
    """Returns the history, and a function that waits for its trends: of a history of years, both take long."""

    def query_trends() -> Trends:
        with _lines(peakmark, ["trends", "--json", *options], history) as lines:
            return parse_trends(lines.read(), "trends --json")

    branch = [one for one in options if one.startswith("--branch=")]
    trends = pool.submit(query_trends)
    with _lines(peakmark, ["history", "export", "--format", "series", f"--max-runs={MAX_RUNS}", *branch], history) as lines:
        found = parse_history(lines, "history export --format series")
    return found, trends.result if found.devices else no_trends


def _matching_branches(peakmark: str, history: str | None, patterns: list[str]) -> list[str]:
    """Returns the branches that match, the one with the newest run first. Raises ReportError for a pattern that matches none."""
    with _lines(peakmark, ["history", "log", "--all", "--json"], history) as lines:
        runs = json.loads(lines.read())["runs"]
    names = list(dict.fromkeys(run["branch"] for run in runs if run.get("branch")))
    for pattern in patterns:
        # A nightly asks for 'pull/*' before the first pull request.
        if "*" not in pattern and pattern not in names:
            raise ReportError(f"--branch {pattern}: no run of this branch; `peakmark history log` lists them")
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def query_peakmark(
    peakmark: str, history: str | None, allow_growth: str | None = None, commit_url: str | None = None,
    branches: Sequence[str] = (),
) -> Sources:
    """Runs the commands of peakmark; `allow_growth` and `commit_url` are for `trends`, `branches` are patterns. Raises SourceError,
    ReportError, and what parsing raises."""
    options = [f"--allow-growth={allow_growth}"] if allow_growth else []
    options += [f"--commit-url={commit_url}"] if commit_url else []
    with ThreadPoolExecutor(max_workers=2) as pool:
        found, trends = _query_trends(pool, peakmark, history, options)
        runs, formulas = _query_runs(peakmark, history, trends) if found.devices else ([], [])
        base = {device.branch for device in found.devices}
        names = _matching_branches(peakmark, history, list(branches)) if branches and found.devices else []
        compared = [_query_trends(pool, peakmark, history, [*options, f"--branch={name}"]) for name in names if name not in base]
        return Sources(found, trends(), runs, formulas, [(one, its_trends()) for one, its_trends in compared])


def _query_runs(peakmark: str, history: str | None, trends: Callable[[], Trends]) -> tuple[list[Run], list[FormulaRow]]:
    """Returns the newest runs of suites that are current, and their formulas."""
    with _lines(peakmark, ["history", "export", "--run", "latest", "--format", "run"], history) as lines:
        documents = [line for line in lines if line.strip()]
    runs, formulas = [], []
    old = {one.run for one in trends().newest_runs if not one.is_current}
    for document in documents:
        for run in parse_runs(document, "history export --run latest --format run"):
            if run.context.get("id") in old:
                continue
            runs.append(run)
            if HAS_SEQUENCES in document:
                formulas += _explain(peakmark, document, run.device[0])
    return runs, formulas


def read_files(series: Path, trends: Path | None, runs: list[Path], formulas: list[Path]) -> Sources:
    """Reads saved output of the commands. Raises OSError, and what parsing raises."""
    found = no_trends() if trends is None else parse_trends(trends.read_text(encoding="utf-8"), str(trends))
    loaded = [run for path in runs for run in parse_runs(path.read_text(encoding="utf-8"), str(path))]
    rows = [row for path in formulas for row in parse_formulas(path.read_text(encoding="utf-8"), str(path))]
    return Sources(load_history(series), found, loaded, rows)


DEFAULT_FOLDER = Path("report")


# The format that each option writes.
_FORMS: dict[str, Callable[[Assessment, argparse.Namespace], str]] = {
    "gitlab_metrics": lambda assessment, _options: metrics_report(assessment),
    "gitlab_code_quality": lambda assessment, options: code_quality(assessment, options.code_quality_path),
    "benchmark_action": lambda assessment, _options: benchmark_action(assessment),
}


class ReportError(InputError):
    """Options exclude each other."""


def _sources(options: argparse.Namespace) -> Sources:
    if options.series is None:
        if options.trends is not None or options.run or options.formulas:
            raise ReportError("--trends, --run and --formulas need --series; without it peakmark runs the commands itself")
        return query_peakmark(options.peakmark, options.history, options.allow_growth, options.commit_url, options.branch)
    if options.branch:
        raise ReportError("--branch needs a history; it takes no --series")
    if options.history is not None:
        raise ReportError("--series and --history are both given; use only one source")
    trends = None if options.trends is None else Path(options.trends)
    return read_files(Path(options.series), trends, [Path(one) for one in options.run], [Path(one) for one in options.formulas])


def _form_files(options: argparse.Namespace) -> dict[str, Path]:
    """Returns the file of each requested format by its option."""
    files = {form: Path(path) for form in _FORMS if (path := getattr(options, form)) is not None}
    form_by_file: dict[Path, str] = {}
    for form, path in files.items():
        other = form_by_file.setdefault(path.resolve(), form)
        if other != form:
            raise ReportError(f"{path}: the same file for --{_dashed(other)} and --{_dashed(form)}; use two files")
    return files


def _dashed(option: str) -> str:
    return option.replace("_", "-")


def _write_forms(assessment: Assessment, files: dict[str, Path], options: argparse.Namespace) -> list[Path]:
    for form, path in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_FORMS[form](assessment, options), encoding="utf-8")
    return list(files.values())


def _answer(peakmark: str, command: str, options: list[str], files: list[Path]) -> tuple[str, str]:
    """Returns the JSON of a command on run files, and the command as a person types it. Raises SourceError."""
    words = [command, "--json", *options, "--", *map(str, files)]  # a run file may begin with a dash
    try:
        with _lines(peakmark, words, None) as lines:
            # As a person types it, without --json.
            return lines.read(), " ".join(["peakmark", command, *(one for one in options if one != "--brief"), *map(str, files)])
    except SourceError as error:
        # The message names the file, and nobody typed this command.
        raise SourceError(str(error).removeprefix(f"peakmark {' '.join(words)}: "), error.code) from error


def _read_run(path: Path) -> tuple[str, Run]:
    document = path.read_text(encoding="utf-8")
    (run,) = parse_runs(document, str(path))
    return document, run


def _write_run_report(options: argparse.Namespace) -> tuple[str, list[Path]]:
    from .run_page import RunReport, parse_comparison, parse_verdicts, write_run_page

    path, base = Path(options.runs), options.against and Path(options.against)
    # The commands take as long as reading the run: at the same time.
    with _without_collection(), ThreadPoolExecutor(max_workers=3) as pool:
        checked = pool.submit(_answer, options.peakmark, "check", ["--brief"], [path])
        words = [f"--allow-growth={options.allow_growth}"] if options.allow_growth else []
        words += ["--force"] if options.force else []
        compared = pool.submit(_answer, options.peakmark, "compare", words, [base, path]) if base is not None else None
        read = pool.submit(_read_run, path)
        verdict, cases = parse_verdicts(*checked.result())
        comparison = parse_comparison(*compared.result()) if compared else None
        document, run = read.result()
    formulas = _explain(options.peakmark, document, run.device[0]) if HAS_SEQUENCES in document else []
    page = write_run_page(RunReport(run, verdict, cases, comparison, formulas), Path(options.output or DEFAULT_FOLDER), options.title)
    return "; ".join([*([comparison.verdict.headline] if comparison else []), verdict.headline]), [page]


def write_report(options: argparse.Namespace) -> tuple[str, list[Path]]:
    """Writes the requested files; returns the verdict line and the files.

    Raises ReportError, SourceError, PageError, what parsing raises, and OSError.
    """
    if options.runs is not None:
        return _write_run_report(options)
    files = _form_files(options)
    with _without_collection():
        sources = _sources(options)
        assessment = assess(sources.history, sources.trends, sources.runs)
    written = _write_forms(assessment, files, options)
    folder = Path(options.output) if options.output else None if written else DEFAULT_FOLDER
    if folder is not None:
        # Imported here, since drawing libraries load slowly and CI reports need none.
        from .page import write_page

        branches = [assess(history, trends, []) for history, trends in sources.branches]
        written.append(write_page([assessment, *branches], sources.runs, folder, options.title, sources.formulas))
    return "; ".join(filter(None, (assessment.headline, assessment.tally))), written
