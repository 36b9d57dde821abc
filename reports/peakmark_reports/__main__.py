"""`python -m peakmark_reports plots RUN -o FOLDER`, `… slice SLICE.npy -o FOLDER`, `… report -o FOLDER`"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .errors import InputError

EXIT_USAGE = 2
EXIT_NOTHING = 4
REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements.txt"
# What requirements.txt names, by the names of their modules.
LIBRARIES = ("jinja2", "markupsafe", "matplotlib", "numpy", "pandas")


def _parser(prog: str) -> argparse.ArgumentParser:
    from .report import add_options

    parser = argparse.ArgumentParser(prog=prog, description="Plots and pages from what peakmark wrote")
    commands = parser.add_subparsers(dest="command", required=True)
    plots = commands.add_parser("plots", help="memory, time and what is live at the peak against shape: PNG and SVG")
    plots.add_argument("run", type=Path, metavar="RUN", help="run file")
    plots.add_argument(
        "--axis", metavar="AXIS", help="to draw against, where it names the shape; default: the first that does"
    )
    one = commands.add_parser("slice", help="a reconstructed slice and a profile along one of its rows: PNG and SVG")
    one.add_argument("slice", type=Path, metavar="SLICE", help=".npy of rows and columns; the files get its name")
    one.add_argument("--truth", type=Path, metavar="TRUTH", help=".npy of the same shape: what it should be")
    one.add_argument("--row", type=int, metavar="ROW", help="of the profile; default: the middle one")
    one.add_argument("--title", metavar="TEXT", help="default: the file's name")
    for command in (plots, one):
        command.add_argument("-o", "--output", type=Path, default=Path("plots"), metavar="FOLDER", help="default: plots")
    add_options(
        commands.add_parser(
            "report",
            help="a page set from a history, and the forms that CI systems show",
            epilog="Exit code: 0 written, whatever the verdict (trends judges); 2 wrong usage, or a file or the history "
            "cannot be read or written.",
        )
    )
    return parser


def _plots(options: argparse.Namespace) -> list[Path]:
    from .plots import write_plots
    from .run_file import load_run

    return write_plots(load_run(options.run), options.output, options.axis)


def _slice(options: argparse.Namespace) -> list[Path]:
    from .figure_style import save
    from .slice_plot import draw_slice, load_slice

    loaded = load_slice(options.slice, options.truth, options.row)
    return save(draw_slice(loaded, options.title), options.output, loaded.name)


def _report(options: argparse.Namespace) -> list[Path]:
    from .report import write_report

    headline, written = write_report(options)
    print(headline, file=sys.stderr)
    return written


def _run(arguments: list[str] | None, prog: str) -> int:
    options = _parser(prog).parse_args(arguments)
    commands = {"plots": _plots, "slice": _slice, "report": _report}
    try:
        written = commands[options.command](options)
    except InputError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return error.code
    except OSError as error:
        print(f"{prog}: {error.filename}: {error.strerror}" if error.filename else f"{prog}: {error}", file=sys.stderr)
        return EXIT_USAGE
    if not written:
        print(f"{prog}: {options.run}: no operation has three shapes to draw a line through", file=sys.stderr)
        return EXIT_NOTHING
    for path in written:
        print(path)
    return 0


def main(arguments: list[str] | None = None, prog: str = "peakmark_reports") -> int:
    """The exit codes are peakmark's: 2 for wrong input, 4 where there is nothing to draw."""
    try:
        return _run(arguments, prog)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in LIBRARIES:
            raise
        print(
            f"{prog}: this Python, {sys.executable}, has no {error.name}. Install what reports need, here or in a virtual "
            f"environment that PEAKMARK_PYTHON names:\n  {sys.executable} -m pip install -r {REQUIREMENTS}",
            file=sys.stderr,
        )
        return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
