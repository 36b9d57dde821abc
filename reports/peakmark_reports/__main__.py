"""`python -m peakmark_reports plots RUN -o FOLDER`, `… slice SLICE.npy -o FOLDER`"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .figure_style import save
from .plots import write_plots
from .run_file import RunFileError, load_run
from .slice_plot import SliceError, draw_slice, load_slice

EXIT_USAGE = 2
EXIT_NOTHING = 4


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="peakmark_reports", description="Plots from what peakmark wrote")
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
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The exit codes are peakmark's: 2 for wrong input, 4 where there is nothing to draw."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "plots":
            written = write_plots(load_run(options.run), options.output, options.axis)
        else:
            loaded = load_slice(options.slice, options.truth, options.row)
            written = save(draw_slice(loaded, options.title), options.output, loaded.name)
    except (RunFileError, SliceError, OSError) as error:
        print(f"peakmark_reports: {error}", file=sys.stderr)
        return EXIT_USAGE
    if not written:
        print(f"peakmark_reports: {options.run}: no operation has three shapes to draw a line through", file=sys.stderr)
        return EXIT_NOTHING
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
