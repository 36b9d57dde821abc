"""How figures look: fit for a paper, readable by the colour-blind, sizes in binary units."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib

# Drawn to files, never to a screen.
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axis import Axis  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: E402

from .figures_text import size_text, time_text  # noqa: E402

# Okabe and Ito, "Color Universal Design" (2008); yellow is left out: too pale on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
# A second code beside the colour, for print in grey.
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]

def device_text(context: dict) -> str:
    """`a device (opencl, driver 1.0)`, from a run's context; `dry` is both."""
    if context["device"] == context["backend"]:
        return context["device"]
    driver = f", driver {context['driver']}" if context["driver"] else ""
    return f"{context['device']} ({context['backend']}{driver})"


def use_style() -> None:
    """Sizes for a figure as wide as a page of print."""
    pyplot.rcParams.update(
        {
            "font.size": 8,
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "legend.fontsize": 8,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "grid.linewidth": 0.5,
            "lines.linewidth": 1.2,
            "lines.markersize": 4,
            "text.parse_math": False,  # a name with dollars in it is no formula
            "svg.fonttype": "none",  # text stays text: searchable, and in the reader's font
            "svg.hashsalt": "peakmark",  # the same run gives the same file
            "savefig.dpi": 200,
        }
    )


def _log2_axis(axis: Axis, text, low: float, high: float) -> None:
    # About five labels however many octaves there are.
    octaves = max(1, math.ceil((math.log2(high) - math.log2(low)) / 5)) if 0 < low < high else 1
    axis.set_major_locator(LogLocator(base=2.0**octaves))
    axis.set_major_formatter(FuncFormatter(lambda value, _position: text(value)))
    axis.set_minor_formatter(NullFormatter())


def set_size_axis(axis: Axis, low: float, high: float) -> None:
    """A logarithmic axis of bytes, with ticks at powers of two."""
    _log2_axis(axis, size_text, low, high)


def set_count_axis(axis: Axis, low: float, high: float) -> None:
    """A logarithmic axis of pixels or slices, with ticks at powers of two."""
    _log2_axis(axis, lambda value: f"{value:g}", low, high)


def set_time_axis(axis: Axis, low: float, high: float) -> None:
    """A logarithmic axis of nanoseconds, with ticks at powers of ten, and between them where those are few."""
    subs = (1.0, 2.0, 5.0) if 0 < low and high < 30 * low else (1.0,)
    axis.set_major_locator(LogLocator(base=10.0, subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _position: time_text(value)))
    axis.set_minor_formatter(NullFormatter())


def save(drawing: pyplot.Figure, folder: Path, name: str) -> list[Path]:
    """Writes `NAME.png` and `NAME.svg`, the same bytes each time; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    # Finding a layout takes longer than drawing: found once, it holds for both.
    drawing.draw_without_rendering()
    drawing.set_layout_engine("none")
    for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        path = folder / f"{name}.{ending}"
        drawing.savefig(path, metadata=metadata)
        written.append(path)
    pyplot.close(drawing)
    return written
