"""How figures look: fit for a paper, readable by the colour-blind, sizes in binary units."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np

# Drawn to files, never to a screen.
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axis import Axis  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, MultipleLocator, NullFormatter  # noqa: E402

from .figures_text import short_commit, size_text, time_text  # noqa: E402
from .line_labels import shortened  # noqa: E402

# Okabe and Ito, "Color Universal Design" (2008); yellow is left out: too pale on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
# A second code beside the colour, for print in grey.
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
# Metadata that would differ from one time to the next, by the format of a file.
FORMATS = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
CAPTION_CHARACTERS_AN_INCH, TITLE_CHARACTERS_AN_INCH = 19, 11
# Factor between the ends of an axis from which on it is logarithmic, though the shapes grow by steps. One slow repetition is
# often many times as slow as the others.
WIDE, WIDE_TIMES = 1000, 20
# Sizes are long texts beside each other.
MOST_TICKS, MOST_SIZES_ABREAST = 6, 4


def device_text(context: dict) -> str:
    """`a device (opencl, driver 1.0)`, from a run's context; `dry` is both."""
    if context["device"] == context["backend"]:
        return context["device"]
    driver = f", driver {context['driver']}" if context["driver"] else ""
    return f"{context['device']} ({context['backend']}{driver})"


def caption_text(context: dict, notes: Sequence[str] = ()) -> str:
    """Where it was measured, and what the marks of the figure mean."""
    commits = context.get("commits") or [context.get("commit")]
    commit = " and ".join(short_commit(one) for one in commits if one)
    where = device_text(context) + (f", commit {commit}" if commit else "")
    return ". ".join([where, *notes]) + "."


def set_texts(drawing: pyplot.Figure, title: str, caption: str) -> None:
    """The title above, at the left; the caption below, small."""
    drawing.suptitle(shortened(title, int(drawing.get_figwidth() * TITLE_CHARACTERS_AN_INCH)), x=0.01, ha="left", fontsize=9, fontweight="bold")
    text = textwrap.fill(caption, max(30, int(drawing.get_figwidth() * CAPTION_CHARACTERS_AN_INCH)))
    drawing.supxlabel(text, x=0.01, ha="left", fontsize=6.5, color="0.35")


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
            "pdf.fonttype": 42,  # outlines of TrueType, which journals ask for
            "svg.fonttype": "none",  # text stays text: searchable, and in the reader's font
            "svg.hashsalt": "peakmark",  # the same run gives the same file
            "savefig.dpi": 200,
        }
    )


@dataclass(frozen=True)
class Scale:
    """The limits of an axis, and whether it is logarithmic."""

    low: float
    high: float
    is_log: bool

    def place(self, values: np.ndarray) -> np.ndarray:
        """Where values are along the axis: 0 at its lower end, 1 at its upper end."""
        if self.is_log:
            return np.log(values / self.low) / math.log(self.high / self.low)
        return (values - self.low) / (self.high - self.low)


def _known(values: Sequence[float]) -> np.ndarray:
    every = np.asarray(values, dtype=float)
    return np.unique(every[np.isfinite(every)])


def is_geometric(values: Sequence[float]) -> bool:
    """True if shapes grow by factors, as 32, 64, 128, and not by steps, as 256, 512, 768."""
    known = _known(values)
    if len(known) < 2 or known[0] <= 0:
        return False
    if len(known) == 2:
        return bool(known[1] >= 4 * known[0])
    steps, factors = np.diff(known), np.diff(np.log(known))
    return bool(factors.std() / factors.mean() <= steps.std() / steps.mean())


def shape_scale(values: Sequence[float]) -> Scale:
    """Of the axis of shapes: as the sweep grows. One shape is in the middle."""
    known = _known(values)
    low, high = known[0], known[-1]
    if is_geometric(known):
        margin = (high / low) ** 0.05
        return Scale(low / margin, high * margin, True)
    margin = 0.05 * (high - low) or 0.5 * abs(high) or 0.5
    return Scale(low - margin, high + margin, False)


def amount_scale(values: Sequence[float], is_log: bool, wide: float = WIDE) -> Scale:
    """Of bytes, times and rates: logarithmic if wanted or if the values are far apart, else from 0. No 0 is on a logarithmic
    axis."""
    known = _known(values)
    low, high = known[0], known[-1]
    if low > 0 and high >= 2 * low and (is_log or high > wide * low):
        margin = max(1.2, (high / low) ** 0.06)
        return Scale(low / margin, high * margin, True)
    return Scale(0, 1.08 * high or 1, False)


def ratio_scale(values: Sequence[float]) -> Scale:
    """Of ratios: around what there is, to show small differences."""
    known = _known(values)
    low, high = known[0], known[-1]
    if low > 0 and high > WIDE * low:
        return Scale(low / 1.4, high * 1.4, True)
    margin = 0.08 * (high - low) or 0.05 * abs(high) or 0.05
    return Scale(low - margin, high + margin, False)


def _binary_step(span: float, most_ticks: int) -> float:
    return 2.0 ** math.ceil(math.log2(span / most_ticks))


def _linear_locator(scale: Scale, unit: str, values: Sequence[float], most_ticks: int):
    if len(_known(values)) == 1:
        return FixedLocator(_known(values))
    step = _binary_step(scale.high - scale.low, most_ticks)
    if unit == "bytes":
        return MultipleLocator(max(1.0, step))
    # Ticks at powers of two where the shapes are multiples of such.
    if unit == "count" and step >= 4 and not np.any(_known(values) % (step / 4)):
        return MultipleLocator(step)
    return MaxNLocator(5, steps=[1, 2, 5, 10], integer=unit == "count")


def _log_locator(scale: Scale, unit: str, most_ticks: int):
    if unit in ("bytes", "count"):
        return LogLocator(base=2.0 ** max(1, math.ceil(math.log2(scale.high / scale.low) / most_ticks)))
    return LogLocator(base=10.0, subs=(1.0, 2.0, 5.0) if scale.high < 30 * scale.low else (1.0,))


def set_axis(axis: Axis, scale: Scale, unit: str, values: Sequence[float] = ()) -> None:
    """Scale, limits and ticks; `values` are those of shapes. `unit` is `bytes`, `count`, `time` (nanoseconds), `ratio` or `rate`."""
    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    set_limits = axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim
    if scale.is_log:
        set_scale("log", base=2 if unit in ("bytes", "count") else 10)
    set_limits(scale.low, scale.high)
    texts = {"bytes": size_text, "time": time_text}
    text = texts.get(unit, lambda value: f"{value:g}")
    most_ticks = MOST_SIZES_ABREAST if axis.axis_name == "x" and unit == "bytes" else MOST_TICKS
    locator = _log_locator(scale, unit, most_ticks) if scale.is_log else _linear_locator(scale, unit, values, most_ticks)
    axis.set_major_locator(locator)
    axis.set_major_formatter(FuncFormatter(lambda value, _position: text(value)))
    axis.set_minor_formatter(NullFormatter())


def save(drawing: pyplot.Figure, folder: Path, name: str, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Writes `NAME.png` and so on, the same bytes each time; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    # Finding a layout takes longer than drawing: found once, it holds for all.
    drawing.draw_without_rendering()
    drawing.set_layout_engine("none")
    for ending in formats:
        path = folder / f"{name}.{ending}"
        drawing.savefig(path, metadata=FORMATS[ending])
        written.append(path)
    pyplot.close(drawing)
    return written
