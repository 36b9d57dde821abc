"""The small chart next to a finding."""

from __future__ import annotations

from markupsafe import Markup

from .common import metric_name, quantity, two_values

WIDTH, HEIGHT, EDGE = 220, 52, 5
# Lines of text above and below the curve.
TEXT = 12
# Runs of a sparkline.
MAX_RUNS = 150
# Runs before the change that are always shown.
BEFORE = 30


def _path(values: list[float | int | None], steps: bool) -> tuple[list[tuple[float, float] | None], str]:
    measured = [value for value in values if value is not None]
    low, high = min(measured), max(measured)
    scale = (HEIGHT - 2 * EDGE) / (high - low) if high > low else 0
    across = (WIDTH - 2 * EDGE) / max(1, len(values) - 1)
    points: list[tuple[float, float] | None] = []
    path, is_open = "", False
    for i, value in enumerate(values):
        if value is None:
            points.append(None)
            is_open = False
            continue
        x = EDGE + i * across
        y = HEIGHT - EDGE - (value - low) * scale if scale else HEIGHT / 2
        points.append((x, y))
        if not is_open:
            # A single run between two without a value is a dash.
            path += f"M{x - 1:.1f} {y:.1f}h2" if not steps else f"M{x:.1f} {y:.1f}h1"
        else:
            path += f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f} {y:.1f}"
        is_open = True
    return points, path


def sparkline(
    values: list[float | int | None], metric: str, at: int | None, colour: str, environment: list[int] | None = None
) -> Markup:
    """Returns an SVG element; empty if nothing was measured. `at`: the run of the change; `colour`: a CSS variable.

    `environment`: runs in which the device's environment changed.
    """
    first = max(0, len(values) - MAX_RUNS)
    if at is not None:
        first = min(first, max(0, at - BEFORE))
    shown = values[first:]
    measured = [value for value in shown if value is not None]
    if not measured:
        return Markup("")
    points, path = _path(shown, metric != "gpu_time_ns")
    across = (WIDTH - 2 * EDGE) / max(1, len(shown) - 1)
    lines = Markup("").join(
        Markup('<line class="mark" x1="{0}" x2="{0}" y1="0" y2="{1}"/>').format(
            f"{EDGE + (run - first) * across:.1f}", HEIGHT
        )
        for run in environment or []
        if run >= first
    )
    dot = Markup("")
    if at is not None and points[at - first] is not None:
        x, y = points[at - first]
        dot = Markup('<circle cx="{}" cy="{}" r="4" style="fill:var({})"/>').format(f"{x:.1f}", f"{y:.1f}", colour)
    low, high = two_values(metric, min(measured), max(measured))
    begin, end = two_values(metric, measured[0], measured[-1])
    label = f"{metric_name(metric)} over {quantity(len(shown), 'run')}: from {begin} to {end}, min {low}, max {high}"
    # The scale: what the upper and the lower edge of the curve mean.
    scale = Markup('<text class="scale" x="{0}" y="-3">{1}</text>').format(EDGE, high)
    if min(measured) != max(measured):
        scale += Markup('<text class="scale" x="{0}" y="{1}">{2}</text>').format(EDGE, HEIGHT + TEXT - 2, low)
    return Markup(
        '<svg class="spark" viewBox="0 {} {} {}" role="img" aria-label="{}">{}'
        '<path class="line" d="{}"/>{}{}</svg>'
    ).format(-TEXT, WIDTH, HEIGHT + 2 * TEXT, label, lines, Markup(path), dot, scale)
