"""`python -m peakmark_reports plots RUN -o FOLDER`"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .plots import write_plots
from .run_file import RunFileError, load_run

EXIT_USAGE = 2
EXIT_NOTHING = 4


def main(arguments: list[str] | None = None) -> int:
    """The exit codes are peakmark's: 2 for wrong input, 4 where there is nothing to draw."""
    parser = argparse.ArgumentParser(prog="peakmark_reports", description="Plots from peakmark's run files")
    commands = parser.add_subparsers(dest="command", required=True)
    plots = commands.add_parser("plots", help="memory, time and what is live at the peak against shape: PNG and SVG")
    plots.add_argument("run", type=Path, metavar="RUN", help="run file")
    plots.add_argument("-o", "--output", type=Path, default=Path("plots"), metavar="FOLDER", help="default: plots")
    plots.add_argument("--axis", metavar="AXIS", help="to draw against, where it names the shape; default: the first that does")
    options = parser.parse_args(arguments)
    try:
        written = write_plots(load_run(options.run), options.output, options.axis)
    except (RunFileError, OSError) as error:
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
