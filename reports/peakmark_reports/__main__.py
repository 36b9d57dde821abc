"""`peakmark plot`, `peakmark explain --plot`, `peakmark fit --plot`, `peakmark report` and `peakmark history export --format
parquet`, and `python -m peakmark_reports slice SLICE.npy` of ci/nightly."""

from __future__ import annotations

import argparse
import errno
import sys
from pathlib import Path

from .common import InputError

EXIT_USAGE = 2
REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements.txt"
# The module names of requirements.txt.
LIBRARIES = ("jinja2", "markupsafe", "matplotlib", "numpy", "pandas")


def _parser(prog: str) -> argparse.ArgumentParser:
    from .report import add_options

    parser = argparse.ArgumentParser(prog=prog, description="Plots and pages of peakmark's results")
    commands = parser.add_subparsers(dest="command", required=True)
    plot = commands.add_parser("plot", help="memory, time, composition at the peak, and estimates against shape")
    plot.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run files")
    plot.add_argument("--axis", action="append", default=[], metavar="AXIS", help="x axis; default: the one that explains most of the memory. Given twice: a heat map")
    plot.add_argument("--against", metavar="VARIANT", help="draw ratios to this variant")
    plot.add_argument("--log", action="store_const", const=True, dest="is_log", help="logarithmic axes")
    plot.add_argument("--linear", action="store_const", const=False, dest="is_log", help="linear axes")
    plot.add_argument("--from-zero", action="store_true", help="y axes from 0")
    plot.add_argument("--width", type=float, metavar="CM", help="default: 13 cm, or 17 cm for several panels")
    plot.add_argument("--filter", metavar="REGEX", help="only cases whose name matches")
    plot.add_argument("--metric", action="append", metavar="METRIC", help="only this metric; may be repeated; default: all")
    for one in ("png", "svg", "pdf"):
        plot.add_argument(f"--{one}", action="append_const", dest="formats", const=one, help=f"write {one.upper()}")
    one = commands.add_parser("slice", help="a reconstructed slice and a profile along one of its rows: PNG and SVG")
    one.add_argument("slice", type=Path, metavar="SLICE", help=".npy of rows and columns; output files get its name")
    one.add_argument("--truth", type=Path, metavar="TRUTH", help=".npy of the same shape: the expected slice")
    one.add_argument("--row", type=int, metavar="ROW", help="of the profile; default: the middle one")
    one.add_argument("--title", metavar="TEXT", help="default: the file's name")
    for command in (plot, one):
        command.add_argument("-o", "--output", type=Path, default=Path("plots"), metavar="FOLDER", help="default: plots")
    formulas = commands.add_parser("formulas", help="memory against shape by formula, from the JSON of explain on standard input")
    fit = commands.add_parser("fit", help="memory against the fitted axis, from the JSON of fit on standard input")
    parquet = commands.add_parser("parquet", help="a Parquet file, from the jsonl of history export on standard input")
    parquet.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    for command in (formulas, fit):
        command.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="a .png, .svg or .pdf file")
    add_options(
        commands.add_parser(
            "report",
            help="pages of a history, and reports for CI systems",
            epilog="Exit code: 0 written, whatever the verdict (use trends to judge); 2 wrong usage, or a file or the history "
            "cannot be read or written.",
        )
    )
    return parser


def _plot(options: argparse.Namespace) -> list[Path]:
    from .figure_style import Look
    from .plots import METRICS, PlotOptions
    from .plots import write_plots

    look = Look(options.width, options.is_log, options.from_zero, options.against)
    plot_options = PlotOptions(options.metric or METRICS, options.formats or ("png", "svg"), options.axis, look=look)
    return write_plots(options.runs, options.output, plot_options, options.filter)


def _slice(options: argparse.Namespace) -> list[Path]:
    from .figure_style import save
    from .slice_plot import draw_slice, load_slice

    loaded = load_slice(options.slice, options.truth, options.row)
    return save(draw_slice(loaded, options.title), options.output, loaded.name)


def _formulas(options: argparse.Namespace) -> list[Path]:
    from .formula_plot import write_curves

    return write_curves(sys.stdin.read(), options.output)


def _fit(options: argparse.Namespace) -> list[Path]:
    from .fit_plot import write_fit

    return write_fit(sys.stdin.read(), options.output)


def _parquet(options: argparse.Namespace) -> list[Path]:
    from .parquet_export import write_parquet

    return write_parquet(sys.stdin, options.output)


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
