"""`peakmark plot`, `peakmark explain --plot`, `peakmark fit --plot`, `peakmark report` and `peakmark history export --format
parquet`, and `python -m peakmark_reports slice SLICE.npy` of ci/nightly."""

from __future__ import annotations

import argparse
import errno
import sys
from pathlib import Path
from typing import Any

from .common import InputError

EXIT_USAGE = 2
REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements.txt"
# The module names of requirements.txt.
LIBRARIES = ("jinja2", "markupsafe", "matplotlib", "numpy", "pandas")


_PLOT_FILES = ("png", "svg", "pdf")
# The options of each command with their defaults. `peakmark COMMAND --help` describes them, and peakmark checks their values.
# False: a flag. A list: may be repeated. `runs` are words without an option, at least one unless the default is None.
OPTIONS: dict[str, dict[str, Any]] = {
    "plot": {
        "runs": [], "output": "plots", "axis": [], "against": None, "log": False, "linear": False, "from_zero": False, "width": None,
        "filter": None, "metric": [], **dict.fromkeys(_PLOT_FILES, False),
    },
    "slice": {"runs": [], "output": "plots", "truth": None, "row": None, "title": None},
    "formulas": {"output": None},
    "fit": {"output": None},
    "parquet": {"output": None},
    # Instead of a history, --series reads the saved output of `history export --format series`; with it, --trends that of `trends
    # --json`, --run the newest runs, and --formulas the output of `explain --json`.
    "report": {
        "runs": None, "output": None, "title": "peakmark report", "against": None, "force": False, "history": None,
        "peakmark": "peakmark", "allow_growth": None, "commit_url": None, "branch": [], "series": None, "trends": None, "run": [],
        "formulas": [], "gitlab_metrics": None, "gitlab_code_quality": None, "code_quality_path": "suites/nightly.toml",
        "benchmark_action": None,
    },
}


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description="Plots and pages of peakmark's results")
    commands = parser.add_subparsers(dest="command", required=True)
    for command, options in OPTIONS.items():
        one = commands.add_parser(command)
        for name, default in options.items():
            if name == "runs":
                one.add_argument(name, nargs="?" if default is None else "+", metavar="FILE")
                continue
            kind = {"action": "store_true"} if default is False else {"action": "append"} if default == [] else {}
            one.add_argument(*(["-o"] if name == "output" else []), f"--{name.replace('_', '-')}", default=default, **kind)
    return parser


def _plot(options: argparse.Namespace) -> list[Path]:
    from .figure_style import Look
    from .plots import METRICS, PlotOptions
    from .plots import write_plots

    is_log = options.log or (False if options.linear else None)
    look = Look(options.width and float(options.width), is_log, options.from_zero, options.against)
    formats = [one for one in _PLOT_FILES if getattr(options, one)]
    plot_options = PlotOptions(options.metric or METRICS, formats or ("png", "svg"), options.axis, look=look)
    return write_plots([Path(run) for run in options.runs], Path(options.output), plot_options, options.filter)


def _slice(options: argparse.Namespace) -> list[Path]:
    from .figure_style import save
    from .slice_plot import draw_slice, load_slice

    (path,) = map(Path, options.runs)
    loaded = load_slice(path, options.truth and Path(options.truth), None if options.row is None else int(options.row))
    return save(draw_slice(loaded, options.title), Path(options.output), loaded.name)


def _formulas(options: argparse.Namespace) -> list[Path]:
    from .formula_plot import write_curves

    return write_curves(sys.stdin.read(), Path(options.output))


def _fit(options: argparse.Namespace) -> list[Path]:
    from .fit_plot import write_fit

    return write_fit(sys.stdin.read(), Path(options.output))


def _parquet(options: argparse.Namespace) -> list[Path]:
    from .parquet_export import write_parquet

    return write_parquet(sys.stdin, Path(options.output))


def _report(options: argparse.Namespace) -> list[Path]:
    from .report import write_report

    headline, written = write_report(options)
    print(headline, file=sys.stderr)
    return written


# As the command advises.
_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free space there, or name another place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "allow it, or name another place"),
    errno.ENOENT: "check the path",
}


def _run(arguments: list[str] | None, prog: str) -> int:
    options = _parser(prog).parse_args(arguments)
    commands = {"plot": _plot, "slice": _slice, "fit": _fit, "formulas": _formulas, "parquet": _parquet, "report": _report}
    try:
        written = commands[options.command](options)
    except InputError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return error.code
    except OSError as error:
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"{prog}: {text}; {_ADVICE.get(error.errno, 'name another path')}", file=sys.stderr)
        return EXIT_USAGE
    for path in written:
        print(path)
    return 0


def main(arguments: list[str] | None = None, prog: str = "peakmark_reports") -> int:
    """Returns peakmark's exit codes: 2 for wrong input, 4 if there is nothing to draw."""
    try:
        return _run(arguments, prog)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in LIBRARIES:
            raise
        print(
            f"{prog}: Python module {error.name} is missing in {sys.executable}: install it with\n"
            f"  {sys.executable} -m pip install -r {REQUIREMENTS}\n"
            "or set PEAKMARK_PYTHON to the Python of a virtual environment that has it",
            file=sys.stderr,
        )
        return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
