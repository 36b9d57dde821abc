"""`report`: a page set, and the forms that CI systems show, from a history."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from .assessment import Assessment, assess
from .ci_forms.bencher import bencher
from .ci_forms.benchmark_action import benchmark_action
from .ci_forms.gitlab import code_quality, metrics_report
from .ci_forms.junit import junit
from .ci_forms.step_summary import append_step_summary
from .errors import InputError
from .sources import Sources, ask_peakmark, read_files

DEFAULT_FOLDER = Path("report")
# The file that a code quality issue points to, where nobody names another: GitLab wants one.
DEFAULT_PATH = "suites/nightly.toml"
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"


# Options that name a file, and what is written there.
_FORMS: dict[str, Callable[[Assessment, argparse.Namespace], str]] = {
    "gitlab_metrics": lambda assessment, _options: metrics_report(assessment),
    "gitlab_code_quality": lambda assessment, options: code_quality(assessment, options.code_quality_path),
    "bencher": lambda assessment, _options: bencher(assessment),
    "benchmark_action": lambda assessment, _options: benchmark_action(assessment),
    "junit": lambda assessment, _options: junit(assessment),
}


class ReportError(InputError):
    """The options do not go together; the message says what to do."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `report`."""
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="of the page set; default: report, or none with a form"
    )
    parser.add_argument("--title", default="peakmark report", metavar="TEXT", help="above the verdict")
    source = parser.add_argument_group("where from")
    source.add_argument("--history", metavar="FILE or URL", help="default: $PEAKMARK_HISTORY")
    source.add_argument("--peakmark", default="peakmark", metavar="PROGRAM", help="that is asked")
    source.add_argument("--allow-growth", metavar="GROWTH", help="of `trends`: growth of a peak that is no regression")
    source.add_argument("--series", type=Path, metavar="FILE", help="instead: what history export --format series wrote")
    source.add_argument("--trends", type=Path, metavar="FILE", help="and what trends --json wrote")
    source.add_argument("--run", type=Path, action="append", default=[], metavar="RUN", help="and the newest runs")
    forms = parser.add_argument_group("forms for CI")
    forms.add_argument(
        "--step-summary", nargs="?", const="", metavar="FILE", help=f"markdown, added to it; default: ${STEP_SUMMARY}"
    )
    forms.add_argument("--gitlab-metrics", type=Path, metavar="FILE", help="GitLab's metrics report")
    forms.add_argument("--gitlab-code-quality", type=Path, metavar="FILE", help="GitLab's code quality report")
    forms.add_argument(
        "--code-quality-path", default=DEFAULT_PATH, metavar="PATH",
        help=f"the file of the repository that it points to; default: {DEFAULT_PATH}",
    )
    forms.add_argument("--bencher", type=Path, metavar="FILE", help="Bencher Metric Format")
    forms.add_argument("--benchmark-action", type=Path, metavar="FILE", help="of github-action-benchmark")
    forms.add_argument("--junit", type=Path, metavar="FILE", help="JUnit XML")


def _sources(options: argparse.Namespace) -> Sources:
    if options.series is None:
        if options.trends is not None or options.run:
            raise ReportError("--trends and --run go with --series; without it peakmark is asked for all three")
        return ask_peakmark(options.peakmark, options.history, options.allow_growth)
    if options.history is not None:
        raise ReportError("--series and --history name two sources; leave one out")
    return read_files(options.series, options.trends, options.run)


def _form_files(options: argparse.Namespace) -> dict[str, Path]:
    """The file of each form that is asked for, by its option."""
    files = {form: getattr(options, form) for form in (*_FORMS, "step_summary")}
    if options.step_summary == "":
        files["step_summary"] = os.environ.get(STEP_SUMMARY)
        if not files["step_summary"]:
            raise ReportError(f"--step-summary names no file, and ${STEP_SUMMARY} is not set")
    files = {form: Path(path) for form, path in files.items() if path is not None}
    of_file: dict[Path, str] = {}
    for form, path in files.items():
        other = of_file.setdefault(path.resolve(), form)
        if other != form:
            raise ReportError(f"{path}: asked for as --{_dashed(other)} and as --{_dashed(form)}; name two files")
    return files


def _dashed(option: str) -> str:
    return option.replace("_", "-")


def _write_forms(assessment: Assessment, files: dict[str, Path], options: argparse.Namespace) -> list[Path]:
    for form, path in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if form == "step_summary":
            append_step_summary(assessment, path)
        else:
            path.write_text(_FORMS[form](assessment, options), encoding="utf-8")
    return list(files.values())


def write_report(options: argparse.Namespace) -> tuple[str, list[Path]]:
    """Writes what the options ask for; returns the verdict line and the files.

    Raises ReportError, SourceError, PageError, what parsing raises, and OSError.
    """
    files = _form_files(options)
    sources = _sources(options)
    assessment = assess(sources.history, sources.trends, sources.runs)
    written = _write_forms(assessment, files, options)
    folder = options.output or (None if written else DEFAULT_FOLDER)
    if folder is not None:
        # Drawing libraries take a while to load, and forms need none of them.
        from .page import write_page

        written.append(write_page(assessment, sources.runs, folder, options.title))
    return "; ".join(filter(None, (assessment.headline, assessment.tally))), written
