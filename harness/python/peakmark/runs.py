"""Runs of suites as pandas tables and plots. Needs pandas, matplotlib and jinja2."""

from __future__ import annotations

import functools
import importlib
import io
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


_INSTALL = "run `pip install pandas matplotlib jinja2`"


class RunError(ValueError):
    """The file is not a run, or the run cannot be made or plotted."""


def load(run: str | os.PathLike[str]) -> pandas.DataFrame:
    """Returns the cases of a run file, one per row.

    Columns: `case`, `operation`, `variant`, `backend`, `outcome`; bytes `peak`, `setup`, `floor`, `estimate`;
    nanoseconds `time`, `time_min`, `time_max`; `message`, why it has its outcome; `at_peak`, a dictionary of bytes by name; `axis:NAME` of every axis.
    Unknown values are NaN or None, never 0. `attrs["peakmark"]` has the facts of the whole run. Raises RunError if the file is
    not a run, OSError if it cannot be opened.
    """
    module = _reports("run_file")
    try:
        loaded = module.load_run(pathlib.Path(run))
    except module.RunFileError as error:
        raise RunError(str(error)) from error
    cases: pandas.DataFrame = loaded.cases
    cases.attrs["peakmark"] = loaded.context
    return cases


def plot_memory(run: pandas.DataFrame | str | os.PathLike[str], operation: str | None = None) -> Figure:
    """Returns a plot of peaks, and of times if there are any, against shape, with a line for each variant.

    `run` is a run file, or rows of a table that load() returned. `operation` selects one of several operations. Raises RunError
    if there are too few cases.
    """
    cases = load(run) if isinstance(run, (str, os.PathLike)) else run
    if "peakmark" not in cases.attrs:
        raise RunError("the table has no attrs of peakmark.load(); filter a table that load() returned")
    backend = _backend_in_use()
    try:
        series, memory_plot, run_file = (_reports(name) for name in ("series", "memory_plot", "run_file"))
        if operation is not None:
            known = sorted(cases["operation"].unique())
            if operation not in known:
                raise RunError(f"unknown operation {operation!r}; the run has {', '.join(known) or 'no cases'}")
            cases = cases[cases["operation"] == operation]
        figures = series.figures(run_file.Run(cases.attrs["peakmark"], cases))
        if not figures:
            raise RunError("too few cases: a line needs three shapes of one operation with outcome ok")
        if len(figures) > 1:
            names = ", ".join(sorted(figure.name for figure in figures))
            raise RunError(f"the run has several operations; set operation= to one of {names}")
        drawing: Figure = memory_plot.draw(figures[0], cases.attrs["peakmark"])
        # A notebook displays the value of a cell, and again all figures that are open in pyplot. It can display a figure
        # without its own support for matplotlib by _repr_png_.
        memory_plot.pyplot.close(drawing)
        drawing._repr_png_ = functools.partial(_to_png, drawing)  # type: ignore[attr-defined]
    finally:
        _restore_backend(backend)
    return drawing


def _to_png(drawing: Figure) -> bytes:
    file = io.BytesIO()
    drawing.savefig(file, format="png", dpi=100, bbox_inches="tight")
    return file.getvalue()


def _backend_in_use() -> str | None:
    """Returns matplotlib's backend, which the reports change; None if pyplot is not imported."""
    if "matplotlib.pyplot" not in sys.modules:
        return None
    import matplotlib

    return str(matplotlib.get_backend())


def _restore_backend(backend: str | None) -> None:
    if backend is not None:
        import matplotlib

        matplotlib.use(backend)


def _reports(module: str) -> Any:
    """Imports a module of the reports, which are in the wheel, next to an installed peakmark, or in the sources."""
    try:
        return importlib.import_module(f"peakmark_reports.{module}")
    except ModuleNotFoundError as error:
        if error.name not in ("peakmark_reports", None):
            raise RunError(f"{error}; {_INSTALL}") from error
    package = pathlib.Path(__file__).resolve().parent
    folders = (
        package / "installed" / "share" / "peakmark" / "reports",  # of a wheel
        package.parents[1] / "reports",  # PREFIX/share/peakmark/python/peakmark
        package.parents[2] / "reports",  # harness/python/peakmark of the sources
    )
    for folder in folders:
        if (folder / "peakmark_reports").is_dir():
            sys.path.append(str(folder))
            try:
                return importlib.import_module(f"peakmark_reports.{module}")
            except ModuleNotFoundError as error:
                raise RunError(f"{error}; {_INSTALL}") from error
    raise RunError("the package peakmark_reports is not installed; run `pip install 'peakmark[reports]'`")
