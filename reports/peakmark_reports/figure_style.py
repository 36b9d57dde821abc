"""The style of figures: colours readable by the colour-blind, axes in binary units, labels at the ends of lines."""

from __future__ import annotations

import math
import os.path
import re
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

from matplotlib.axes import Axes  # noqa: E402
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: E402
from matplotlib.colors import to_hex, to_rgb  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.text import Text  # noqa: E402
from matplotlib.transforms import ScaledTranslation  # noqa: E402

from .common import InputError, short_commit, size_text, time_text  # noqa: E402

# Okabe and Ito, "Color Universal Design" (2008), without yellow, which is too pale on white.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
# Distinguishes lines in grey print.
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
# Metadata removed from each format, so that equal figures give equal files.
FORMATS = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
CAPTION_CHARACTERS_PER_INCH, TITLE_CHARACTERS_PER_INCH = 19, 11
# Characters per inch of a figure's width without its labels.
WORD_CHARACTERS_PER_INCH = 8
# An axis with a larger ratio of its ends is logarithmic, even if shapes grow by steps. A slow repetition is often many times as
# slow as the others.
WIDE, WIDE_TIMES = 1000, 20
# The width of the text of a printed page, and of a figure of one column.
PAGE_CM, COLUMN_CM, CM_PER_INCH = 17.0, 13.0, 2.54
# Fewer sizes fit side by side.
MAX_TICKS, MAX_SIZES_ABREAST = 6, 4
# Ticks of shapes that are closer on the axis would overlap.
MIN_TICK_SHARE = 0.17


def device_text(context: dict) -> str:
    """Returns `a device (opencl, driver 1.0)` from a run's context; `dry` alone for both."""
    if context["device"] == context["backend"]:
        return context["device"]
    driver = f", driver {context['driver']}" if context["driver"] else ""
    return f"{context['device']} ({context['backend']}{driver})"


def caption_text(context: dict, notes: Sequence[str] = ()) -> str:
    """Returns the device, the commit, and the meaning of the marks."""
    commits = context.get("commits") or [context.get("commit")]
    commit = " and ".join(short_commit(one) for one in commits if one)
    where = device_text(context) + (f", commit {commit}" if commit else "")
    return ". ".join([where, *notes]) + "."


def wrapped(text: str, max_length: int) -> str:
    """Returns the text in lines, which end after a comma where possible: `n 20` stays on one line."""
    return textwrap.fill(re.sub(r"(?<=\w) (?=\w)", "\u00a0", text), max_length)


def set_texts(drawing: pyplot.Figure, title: str, caption: str) -> None:
    """Sets the title at the top left and the small caption below."""
    drawing.suptitle(shortened(title, int(drawing.get_figwidth() * TITLE_CHARACTERS_PER_INCH)), x=0.01, ha="left", fontsize=9, fontweight="bold")
    text = textwrap.fill(caption, max(30, int(drawing.get_figwidth() * CAPTION_CHARACTERS_PER_INCH)))
    drawing.supxlabel(text, x=0.01, ha="left", fontsize=6.5, color="0.35")


def use_style() -> None:
    """Sets sizes for a figure as wide as a printed page."""
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
            "text.parse_math": False,  # names may contain dollars
            "pdf.fonttype": 42,  # TrueType, which journals require
            "svg.fonttype": "none",  # text stays text: searchable, and in the reader's font
            "svg.hashsalt": "peakmark",  # the same run gives the same file
            "savefig.dpi": 200,
        }
    )


class ScaleError(InputError):
    """The values do not fit the requested scale."""


@dataclass(frozen=True)
class Look:
    """What the user chooses of a figure: its width; axes that are logarithmic, linear (None: as fits the values), or from 0; the
    variant to which all values are ratios."""

    width_cm: float | None = None
    is_log: bool | None = None
    from_zero: bool = False
    against: str | None = None

    def columns(self, panels: int, min_inches: float) -> int:
        return min(panels, max(1, int((self.width_cm or PAGE_CM) / CM_PER_INCH / min_inches)))

    def inches(self, columns: int) -> float:
        return (self.width_cm or (PAGE_CM if columns > 1 else COLUMN_CM)) / CM_PER_INCH


@dataclass(frozen=True)
class Scale:
    """The limits of an axis, and whether it is logarithmic."""

    low: float
    high: float
    is_log: bool

    def place(self, values: np.ndarray) -> np.ndarray:
        """Returns positions along the axis: 0 at its lower end, 1 at its upper end."""
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


def _check_log(what: str, low: float) -> None:
    if low <= 0:
        raise ScaleError(f"--log: {what} has the value {low:g}; leave out --log, or the case with --filter")


def shape_scale(values: Sequence[float], name: str = "x", look: Look = Look()) -> Scale:
    """Returns the scale of shapes: logarithmic if the sweep grows by factors. A single shape is in the middle. Raises ScaleError."""
    known = _known(values)
    low, high = known[0], known[-1]
    if look.is_log:
        _check_log(name, low)
    if is_geometric(known) if look.is_log is None else look.is_log:
        margin = max(1.05, (high / low) ** 0.05)
        return Scale(low / margin, high * margin, True)
    margin = 0.05 * (high - low) or 0.5 * abs(high) or 0.5
    return Scale(low - margin, high + margin, False)


def amount_scale(values: Sequence[float], is_log: bool, wide: float = WIDE, look: Look = Look()) -> Scale:
    """Returns the scale of bytes, times or rates: logarithmic if requested or if the range is wide, else from 0. Values with 0
    are never logarithmic. Raises ScaleError."""
    known = _known(values)
    low, high = known[0], known[-1]
    if look.is_log:
        _check_log("a measured value", low)
    fits = low > 0 and high >= 2 * low and (is_log or high > wide * low)
    if (fits if look.is_log is None else look.is_log) and not look.from_zero:
        margin = max(1.2, (high / low) ** 0.06)
        return Scale(low / margin, high * margin, True)
    return Scale(0, 1.08 * high or 1, False)


def ratio_scale(values: Sequence[float], look: Look = Look()) -> Scale:
    """Returns the scale of ratios: close around the values, to show small differences. Raises ScaleError."""
    known = _known(values)
    low, high = known[0], known[-1]
    if look.is_log:
        _check_log("a ratio", low)
    if look.from_zero:
        return Scale(0, 1.08 * high or 1, False)
    if (low > 0 and high > WIDE * low) if look.is_log is None else look.is_log:
        margin = max(1.02, min(1.4, (high / low) ** 0.08))
        return Scale(low / margin, high * margin, True)
    margin = 0.08 * (high - low) or 0.05 * abs(high) or 0.05
    return Scale(low - margin, high + margin, False)


def _binary_step(span: float, max_ticks: int) -> float:
    return 2.0 ** math.ceil(math.log2(span / max_ticks))


def _linear_locator(scale: Scale, unit: str, values: Sequence[float], max_ticks: int):
    step = _binary_step(scale.high - scale.low, max_ticks)
    if unit == "bytes":
        return MultipleLocator(max(1.0, step))
    known = _known(values)
    if unit == "count" and len(known) and not np.any(known % 1):
        # Ticks at shapes if these are multiples of one number.
        unit_step = math.gcd(*map(int, known))
        wide = unit_step * max(1.0, _binary_step((scale.high - scale.low) / max(unit_step, 1), max_ticks))
        if 0 < wide <= 4 * unit_step:
            return MultipleLocator(wide)
    return MaxNLocator(5, steps=[1, 2, 5, 10], integer=unit == "count" and not np.any(_known(values) % 1))


def _log_locator(scale: Scale, unit: str, values: Sequence[float], max_ticks: int):
    if unit in ("bytes", "count"):
        locator = LogLocator(base=2.0 ** max(1, math.ceil(math.log2(scale.high / scale.low) / max_ticks)))
    else:
        locator = LogLocator(base=10.0, subs=(1.0, 2.0, 5.0) if scale.high < 30 * scale.low else (1.0,))
    ticks = locator.tick_values(scale.low, scale.high)
    # A short axis may have no power.
    return locator if np.count_nonzero((scale.low <= ticks) & (ticks <= scale.high)) >= 2 else _linear_locator(scale, unit, values, max_ticks)


def set_ticks(axis: Axis, scale: Scale, unit: str, values: Sequence[float] = ()) -> None:
    """Sets the ticks; `values` are those of shapes. `unit` is `bytes`, `count`, `time` (nanoseconds), `ratio` or `rate`."""
    texts = {"bytes": size_text, "time": time_text}
    text = texts.get(unit, lambda value: f"{value:.10g}")
    max_ticks = MAX_SIZES_ABREAST if axis.axis_name == "x" and unit == "bytes" else MAX_TICKS
    known = _known(values)
    if 0 < len(known) <= MAX_SIZES_ABREAST and (len(known) == 1 or np.diff(scale.place(known)).min() >= MIN_TICK_SHARE):
        locator = FixedLocator(known)
    else:
        locator = _log_locator(scale, unit, known, max_ticks) if scale.is_log else _linear_locator(scale, unit, known, max_ticks)
    axis.set_major_locator(locator)
    axis.set_major_formatter(FuncFormatter(lambda value, _position: text(value)))
    axis.set_minor_formatter(NullFormatter())


def set_axis(axis: Axis, scale: Scale, unit: str, values: Sequence[float] = ()) -> None:
    """Sets scale, limits and ticks as set_ticks() does."""
    set_scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    set_limits = axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim
    if scale.is_log:
        set_scale("log", base=2 if unit in ("bytes", "count") else 10)
    set_limits(scale.low, scale.high)
    set_ticks(axis, scale, unit, values)


def set_words(axes: Axes, words: Sequence[str]) -> None:
    """Sets the words of the x axis at 0, 1, 2, …; rotated if they would overlap."""
    characters = axes.figure.get_figwidth() / axes.get_gridspec().ncols * WORD_CHARACTERS_PER_INCH
    style = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if sum(map(len, words)) + 2 * len(words) > characters else {}
    axes.set_xticks(range(len(words)), [shortened(word, MAX_NAME) for word in words], **style)


def shades(count: int) -> list[str]:
    """Returns colours from light to dark, which grey print keeps apart."""
    return [to_hex(matplotlib.colormaps["viridis_r"](0.15 + 0.85 * i / max(1, count - 1))) for i in range(count)]


def fix_layout(drawing: Figure) -> None:
    """Computes the layout, which takes as long as drawing, once. Does nothing if it is fixed."""
    engine = drawing.get_layout_engine()
    if engine is not None:
        engine.execute(drawing)
        drawing.set_layout_engine("none")


def save(drawing: pyplot.Figure, folder: Path, name: str, formats: Sequence[str] = ("png", "svg")) -> list[Path]:
    """Writes `NAME.png` and so on, reproducibly; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    fix_layout(drawing)
    for ending in formats:
        path = folder / f"{name}.{ending}"
        # As savefig() does, which draws twice.
        drawing.dpi = pyplot.rcParams["savefig.dpi"]
        if ending == "png":
            FigureCanvasAgg(drawing).print_png(path, metadata=FORMATS[ending])
        elif ending == "svg":
            FigureCanvasSVG(drawing).print_svg(path, metadata=FORMATS[ending])
        else:
            drawing.savefig(path, metadata=FORMATS[ending])
        written.append(path)
    pyplot.close(drawing)
    return written


# ---- labels at the ends of lines, instead of a legend ----

# Characters of a name, and of a line of a label.
MAX_NAME, MAX_LINE = 24, 24
# Max names in one label; the number of the others is printed.
MAX_JOINED = 4
FONT_SIZE = 7
# Points between the axes and their labels, for the lines that connect them.
LEADER = 9
# Points of that space for the line, and between the line and the data.
LEADER_LENGTH, LEADER_GAP = 6.5, 2
# Inches per character and per line of a label, to choose the size of a figure before its layout.
INCHES_PER_CHARACTER, INCHES_PER_LINE = 0.058, 0.125


def shortened(text: str, max_length: int) -> str:
    """Cuts the middle, since names differ at their ends."""
    if len(text) <= max_length:
        return text
    head = (max_length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (max_length - 1 - head):]}"


def _cores(names: Sequence[str]) -> dict[str, str]:
    """Returns each name without the beginning and the end that all names share, except for some letters of both."""
    head = len(os.path.commonprefix(list(names)))
    tail = len(os.path.commonprefix([name[head:][::-1] for name in names]))
    return {name: f"…{name[max(0, head - 4): len(name) - tail + 4]}…" for name in names}


def short_names(names: Sequence[str], max_length: int = MAX_NAME) -> dict[str, str]:
    """Returns a short form of each name; longer than `max_length` if different names would become equal."""
    for size in range(max_length, max(map(len, names), default=0), 8):
        for texts in ({name: name for name in names}, _cores(names)):
            short = {name: shortened(text, size) for name, text in texts.items()}
            if len(set(short.values())) == len(short):
                return short
    return {name: name for name in names}


def joined_label(names: Sequence[str], is_exact: bool, value: str) -> str:
    """Returns `coords1d = computed 80 MiB` in lines of at most MAX_LINE characters, if names are not longer; `≈` if not exact."""
    sign = " = " if is_exact else " ≈ "
    shown = list(names) if len(names) <= MAX_JOINED else [*names[: MAX_JOINED - 1], f"{len(names) - MAX_JOINED + 1} more"]
    # Keeps number and unit, and the words of a name, on one line.
    parts = [part.replace(" ", "\u00a0") for part in (*shown, value) if part]
    text = sign.join(parts[:-1]) + f" {parts[-1]}" if value else sign.join(parts)
    return "\n".join(textwrap.wrap(text, MAX_LINE, break_long_words=False, break_on_hyphens=False))


def spread(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Returns centres without overlap between `low` and `high`, as near to `wanted` as possible (least squares).

    If there is not enough space, they exceed both ends equally.
    """
    if not wanted:
        return []
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    offsets = [0.0]
    for below, above in zip(order, order[1:]):
        offsets.append(offsets[-1] + (sizes[below] + sizes[above]) / 2)
    # Without offsets, centres must not decrease: isotonic regression by pooling adjacent violators.
    pools: list[tuple[float, int]] = []
    for i, offset in zip(order, offsets):
        mean, count = wanted[i] - offset, 1
        while pools and pools[-1][0] >= mean:
            other, others = pools.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        pools.append((mean, count))
    first, last = low + sizes[order[0]] / 2, high - sizes[order[-1]] / 2 - offsets[-1]
    if first > last:
        first = last = (first + last) / 2
    centres = [0.0] * len(wanted)
    means = [mean for mean, count in pools for _ in range(count)]
    for i, offset, mean in zip(order, offsets, means):
        centres[i] = min(max(mean, first), last) + offset
    return centres


def _darker(colour: str) -> tuple[float, float, float]:
    """Returns a darker colour for text, because light colours of the palette are hard to read on white."""
    red, green, blue = to_rgb(colour)
    return 0.7 * red, 0.7 * green, 0.7 * blue


@dataclass(frozen=True)
class Label:
    """A text right of the axes; a line connects it with the point `end` of the data."""

    text: Text
    end: tuple[float, float]
    colour: str


def add_label(axes: Axes, text: str, end: tuple[float, float], colour: str) -> Label:
    """Adds a label right of the axes; place_labels() sets its height and draws the line."""
    right = axes.transAxes + ScaledTranslation(LEADER / 72, 0, axes.figure.dpi_scale_trans)
    shown = axes.text(
        1, 0.5, text, transform=right, va="center", ha="left", fontsize=FONT_SIZE, linespacing=1.05, color=_darker(colour)
    )
    return Label(shown, end, colour)


def _leader(drawing: Figure, begin: tuple[float, float], end: tuple[float, float], colour: str) -> Line2D | None:
    """Returns a line that ends before `end`, both in pixels; None if the points are too near. An annotation of matplotlib takes ten
    times as long to draw."""
    distance = math.dist(begin, end)
    gap = LEADER_GAP * drawing.dpi / 72
    if distance <= gap:
        return None
    part = 1 - gap / distance
    middle = (begin[0] + part * (end[0] - begin[0]), begin[1] + part * (end[1] - begin[1]))
    # Inches stay the same when the figure is saved with another resolution.
    across, up = drawing.dpi_scale_trans.inverted().transform([begin, middle]).T
    return Line2D(across, up, transform=drawing.dpi_scale_trans, color=colour, linewidth=0.6, marker="", zorder=3)


def place_labels(drawing: Figure, labels: dict[Axes, list[Label]]) -> None:
    """Computes the layout of the figure, moves the labels of each axes so that they do not overlap, and draws their lines."""
    fix_layout(drawing)
    for axes, notes in labels.items():
        window = axes.get_window_extent()
        ends = [axes.transData.transform(note.end) for note in notes]
        heights = [1.04 * note.text.get_window_extent().height for note in notes]
        centres = spread([end[1] for end in ends], heights, window.y0, window.y1)
        begin = window.x1 + LEADER_LENGTH * drawing.dpi / 72
        for note, end, centre in zip(notes, ends, centres):
            note.text.set_y((centre - window.y0) / window.height)
            line = _leader(drawing, (begin, centre), (float(end[0]), float(end[1])), note.colour)
            if line is not None:
                axes.add_artist(line).set_clip_on(False)
