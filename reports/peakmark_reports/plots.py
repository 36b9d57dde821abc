"""Every figure of a run, as files."""

from __future__ import annotations

from pathlib import Path

from .composition_plot import composition_of, draw_composition
from .figure_style import save
from .memory_plot import draw
from .run_file import Run
from .series import figures_of


def write_plots(run: Run, folder: Path, axis: str | None = None) -> list[Path]:
    """For each figure, memory and time as `NAME` and what was live at the peak as `NAME-at-peak`.

    They are drawn against this axis wherever its value names the shape.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure in figures_of(run, axis):
        written += save(draw(figure, run.context), folder, figure.name)
        composition = composition_of(figure)
        if composition is not None:
            written += save(draw_composition(figure, composition, run.context), folder, f"{figure.name}-at-peak")
    return written
