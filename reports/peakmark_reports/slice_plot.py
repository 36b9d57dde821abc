"""Draws a reconstructed slice and a profile along one of its rows, with the expected profile if known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .common import InputError
from .figure_style import COLOURS, pyplot, use_style


class SliceError(InputError):
    """The file is not a slice."""


@dataclass(frozen=True)
class Slice:
    """A slice (h, w), the expected slice of the same shape or None, and the row of the profile."""

    name: str
    values: np.ndarray
    truth: np.ndarray | None
    row: int

    def limits(self) -> tuple[float, float]:
        """Returns the limits of grey values: those of the truth, which has no artefacts, else of the slice."""
        shown = self.values if self.truth is None else self.truth
        return float(np.nanmin(shown)), float(np.nanmax(shown))


def _load(path: Path) -> np.ndarray:
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise SliceError(f"{path}: not a .npy file, or truncated: {error}") from error
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        raise SliceError(f"{path}: wrong type; a slice is an array of floats")
    # A stack of one slice.
    if values.ndim == 3 and values.shape[0] == 1:
        values = values[0]
    if values.ndim != 2 or 0 in values.shape:
        raise SliceError(f"{path}: shape {values.shape}; a slice has rows and columns")
    if not np.isfinite(values).any():
        raise SliceError(f"{path}: no finite value")
    return values


def load_slice(path: Path, truth: Path | None = None, row: int | None = None) -> Slice:
    """Reads .npy files; the default row is the middle one. Raises SliceError or OSError."""
    values = _load(path)
    true_values = None if truth is None else _load(truth)
    if true_values is not None and true_values.shape != values.shape:
        raise SliceError(f"{truth}: shape {true_values.shape}; {path} has {values.shape}")
    row = values.shape[0] // 2 if row is None else row
    if not 0 <= row < values.shape[0]:
        raise SliceError(f"{path}: no row {row}; it has {values.shape[0]}")
    return Slice(path.stem, values, true_values, row)


def draw_slice(slice_: Slice, title: str | None = None) -> pyplot.Figure:
    """Draws the slice with the row of the profile marked, and the profile."""
    use_style()
    drawing, (picture, profile) = pyplot.subplots(
        1, 2, figsize=(6.8, 3.0), layout="constrained", gridspec_kw={"width_ratios": [1, 1.1]}
    )
    low, high = slice_.limits()
    shown = picture.imshow(slice_.values, cmap="gray", vmin=low, vmax=high, interpolation="none")
    picture.axhline(slice_.row, color=COLOURS[1], linewidth=0.8, linestyle=(0, (6, 3)))
    picture.grid(visible=False)
    picture.set_title(f"slice, {slice_.values.shape[0]} × {slice_.values.shape[1]}")
    drawing.colorbar(shown, ax=picture, fraction=0.05, pad=0.03)

    if slice_.truth is not None:
        profile.plot(slice_.truth[slice_.row], color="0.3", linewidth=1.6, linestyle=(0, (4, 2)), label="truth")
    profile.plot(slice_.values[slice_.row], color=COLOURS[1], linewidth=0.8, label="reconstruction")
    profile.set_xlim(0, slice_.values.shape[1] - 1)
    profile.set_xlabel("column")
    profile.set_title(f"profile, row {slice_.row}")
    profile.legend(frameon=False)
    drawing.suptitle(title or slice_.name, fontsize=8)
    return drawing
