"""Labels at the ends of lines instead of a legend: cut in the middle, joined where lines coincide, never overlapping."""

from __future__ import annotations

import os.path
import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import ScaledTranslation

# Characters of a name, and of a line of a label.
MAX_NAME, MAX_LINE = 24, 24
# Names of one label; the others are counted.
MAX_JOINED = 4
FONT_SIZE = 7
# Points between the axes and their labels: the line that joins both is seen there.
LEADER = 9
# Inches of a character and of a line of a label, for the size of a figure before it is laid out.
INCHES_A_CHARACTER, INCHES_A_LINE = 0.058, 0.125


def shortened(text: str, most: int) -> str:
    """Cuts the middle: names differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head):]}"


def _cores(names: Sequence[str]) -> dict[str, str]:
    """What is between the beginning and the end that all share, with some letters of both."""
    head = len(os.path.commonprefix(list(names)))
    tail = len(os.path.commonprefix([name[head:][::-1] for name in names]))
    return {name: f"…{name[max(0, head - 4): len(name) - tail + 4]}…" for name in names}


def short_names(names: Sequence[str], most: int = MAX_NAME) -> dict[str, str]:
    """A short form of each name; longer than `most` where different names would look alike."""
    for size in range(most, max(map(len, names), default=0), 8):
        for texts in ({name: name for name in names}, _cores(names)):
            short = {name: shortened(text, size) for name, text in texts.items()}
            if len(set(short.values())) == len(short):
                return short
    return {name: name for name in names}


def joined_label(names: Sequence[str], is_exact: bool, value: str) -> str:
    """`coords1d = computed 80 MiB`, in lines of at most MAX_LINE characters where names allow; `≈` if not exactly equal."""
    sign = " = " if is_exact else " ≈ "
    shown = list(names) if len(names) <= MAX_JOINED else [*names[: MAX_JOINED - 1], f"{len(names) - MAX_JOINED + 1} more"]
    # Neither a number and its unit nor the words of one name are parted.
    parts = [part.replace(" ", "\u00a0") for part in (*shown, value) if part]
    text = sign.join(parts[:-1]) + f" {parts[-1]}" if value else sign.join(parts)
    return "\n".join(textwrap.wrap(text, MAX_LINE, break_long_words=False, break_on_hyphens=False))


def spread(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Centres as near to the wanted ones as they can be without overlap (least squares), between `low` and `high`.

    Where there is not enough space between, they go beyond both ends alike.
    """
    if not wanted:
        return []
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    offsets = [0.0]
    for below, above in zip(order, order[1:]):
        offsets.append(offsets[-1] + (sizes[below] + sizes[above]) / 2)
    # Without its offset no centre may be below the one before: isotonic regression, by pooling neighbours.
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
    """For text: the palette's light colours are hard to read on white."""
    red, green, blue = to_rgb(colour)
    return 0.7 * red, 0.7 * green, 0.7 * blue


def add_label(axes: Axes, text: str, end: tuple[float, float], colour: str) -> Annotation:
    """A label right of the axes, with a thin line to the end of its line; place_labels() sets its height."""
    right = axes.transAxes + ScaledTranslation(LEADER / 72, 0, axes.figure.dpi_scale_trans)
    return axes.annotate(
        text, end, xytext=(1, 0.5), textcoords=right, va="center", ha="left", fontsize=FONT_SIZE, linespacing=1.05,
        color=_darker(colour), annotation_clip=False,
        arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0.5, "shrinkB": 2, "relpos": (0, 0.5)},
    )  # fmt: skip


def place_labels(drawing: Figure, labels: dict[Axes, list[Annotation]]) -> None:
    """Lays the figure out, and moves the labels of each axes so that none overlaps another."""
    drawing.draw_without_rendering()
    drawing.set_layout_engine("none")
    for axes, notes in labels.items():
        window = axes.get_window_extent()
        wanted = [axes.transData.transform(note.xy)[1] for note in notes]
        heights = [1.04 * Text.get_window_extent(note).height for note in notes]
        centres = spread(wanted, heights, window.y0, window.y1)
        for note, centre in zip(notes, centres):
            note.xyann = (1, (centre - window.y0) / window.height)
