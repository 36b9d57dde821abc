"""Records the device memory of a part of a program, for notebooks: `with peakmark.record() as profile: ...`."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from peakmark import recorders
from peakmark.sizes import exact_size, format_size
from peakmark.windows import Group, Window

if TYPE_CHECKING:
    import pandas

MAX_POINTS = 2000
_WIDTH, _HEIGHT, _LABEL = 640, 120, 16
_LEFT = "style='text-align:left'"


class Profile(Window):
    """A window with the live bytes over time, which notebooks can display."""

    _has_timeline = True

    def __enter__(self) -> Profile:
        recorders.load()
        super().__enter__()
        return self

    def timeline(self) -> list[tuple[float, int]]:
        """Returns (seconds since the first event, live bytes of allocations in the window) for each event."""
        points = self._figures["timeline"]
        begin = points[0][0] if points else 0
        return [((time_ns - begin) / 1e9, live) for time_ns, live in points]

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the live allocations at the peak: `name`, `kind`, `phase`, `site`, `child`, `bytes`, `count`, `largest_bytes`."""
        import pandas

        columns = ["name", "kind", "phase", "site", "child", "bytes", "count", "largest_bytes"]
        return pandas.DataFrame([[getattr(one, column) for column in columns] for one in self.at_peak()], columns=columns)

    def __repr__(self) -> str:
        return super().__repr__().replace("<Window", "<Profile", 1)

    def _repr_html_(self) -> str:
        if not self.is_known:
            return f"<pre>{html.escape(repr(self))}</pre>"
        facts = [
            ("peak", exact_size(self.peak_bytes)),
            ("left at the end", exact_size(self.left_bytes)),
            ("allocations", f"{self.allocations}, {format_size(self.total_bytes)} in all"),
        ]
        if self.live_at_start_bytes:
            facts.append(("live before", f"{format_size(self.live_at_start_bytes)}, with it {exact_size(self.live_peak_bytes)}"))
        if self.failed_allocations:
            facts.append(("refused", str(self.failed_allocations)))
        facts += [
            (f"held by {pool.name}", f"{exact_size(pool.held_bytes)}, {format_size(pool.used_bytes)} in use")
            for pool in self.pools
        ]
        facts += [("note", note) for note in self.notes]
        rows = "".join(f"<tr><th {_LEFT}>{html.escape(a)}</th><td {_LEFT}>{html.escape(b)}</td></tr>" for a, b in facts)
        title = f"<b>Device memory{': ' + html.escape(self.name) if self.name else ''}</b>"
        return f"<div>{title}<table>{rows}</table>{self._drawing()}{_table(self.at_peak())}</div>"

    def _drawing(self) -> str:
        """Returns an SVG step plot of the live bytes over time, from the first allocation to the end."""
        points = self.timeline()
        if not points or self.peak_bytes == 0:
            return ""
        begin_ns = (self._figures["timeline"])[0][0]
        duration = max(points[-1][0], (self._end_ns - begin_ns) / 1e9, 1e-9)
        points = _thinned(points, MAX_POINTS)
        across = _WIDTH / duration
        up = _HEIGHT / self.peak_bytes
        path, last = [f"M0 {_HEIGHT:g}"], _HEIGHT * 1.0
        for seconds, live in points:
            x, y = seconds * across, _HEIGHT - live * up
            path.append(f"L{x:.1f} {last:.1f}L{x:.1f} {y:.1f}")
            last = y
        path.append(f"L{_WIDTH} {last:.1f}L{_WIDTH} {_HEIGHT}Z")
        peak, below = format_size(self.peak_bytes), _HEIGHT + _LABEL - 4
        return (
            f'<svg role="img" aria-label="Live device memory over {_duration(duration)}, at most {peak}" '
            f'viewBox="0 {-_LABEL} {_WIDTH} {_HEIGHT + 2 * _LABEL}" width="{_WIDTH}" height="{_HEIGHT + 2 * _LABEL}" '
            'style="max-width:100%" font-size="12" font-family="sans-serif" fill="currentColor">'
            f'<path d="{"".join(path)}" fill="#0072B2" fill-opacity="0.3" stroke="#0072B2"/>'
            f'<text x="0" y="-4">{peak}</text><text x="0" y="{below}">0</text>'
            f'<text x="{_WIDTH}" y="{below}" text-anchor="end">{_duration(duration)}</text></svg>'
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _thinned(points: list[tuple[float, int]], max_points: int) -> list[tuple[float, int]]:
    """Returns the highest point of each part, so that the peak is kept."""
    length = -(-len(points) // max_points)
    return [max(points[i : i + length], key=lambda point: point[1]) for i in range(0, len(points), length)]


def _table(groups: tuple[Group, ...]) -> str:
    if not groups:
        return ""
    has_site = any(one.site for one in groups)
    head = ["at the peak", "kind", "phase", *(["place"] if has_site else []), "count", "bytes"]
    lines = [
        [
            one.name or "(unnamed)",
            one.kind + (", child process" if one.child else ""),
            one.phase,
            *([one.site] if has_site else []),
            str(one.count),
            exact_size(one.bytes),
        ]
        for one in groups
    ]
    cells = "".join(f"<th {_LEFT}>{cell}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td {_LEFT}>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in lines
    )
    return f"<table><tr>{cells}</tr>{body}</table>"


def record(name: str = "") -> Profile:
    """Records the allocations of the whole process within `with peakmark.record() as profile:`.

    The recorder must be loaded before the first call into OpenCL or CUDA: by load_recorders() at the beginning, or by
    `peakmark record -- jupyter lab`. Raises RecorderTooLate if it is too late.
    """
    if not isinstance(name, str):
        raise TypeError(f"peakmark.record: name must be a str, not {type(name).__name__}")
    return Profile(name)
