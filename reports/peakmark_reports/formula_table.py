"""Reads the formulas of `peakmark explain --json`, for the page. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .common import reading, size_text

# Allocations of a variant that are listed.
MAX_ALLOCATIONS = 12


@dataclass(frozen=True)
class FormulaRow:
    """The formulas of a variant for some words. `is_exact`: every byte has one."""

    variant: str
    words: str
    device: str
    peak: str
    is_exact: bool
    allocations: list[str]


def words_text(words: dict[str, list[str | float]]) -> str:
    """Returns `mode=edge,wrap  dtype=f32`."""
    return "  ".join(f"{axis}={','.join(map(str, values))}" for axis, values in words.items())


def formula_text(formula: str) -> str:
    """Returns `4·ny·nx` for `4 * ny * nx`."""
    return formula.replace(" * ", "·")


def _allocation(entry: dict[str, Any]) -> str:
    name = entry["name"] or "unnamed"
    place = f", {entry['where']}" if entry["where"] else ""
    if entry["bytes"] is None:
        largest = max((one["bytes"] for one in entry.get("recorded") or []), default=0)
        size = f"no formula, at most {size_text(largest)}"
    else:
        size = formula_text(entry["bytes"])
    count = "" if entry["count"] == "1" else f"{formula_text(entry['count']) if entry['count'] else 'several'} × "
    return f"{name} ({entry['phase']}{place}): {count}{size}"


def _allocations(entries: Sequence[dict[str, Any]]) -> list[str]:
    # Allocations that each call repeats are one line.
    texts = list(dict.fromkeys(map(_allocation, entries)))
    rest = len(texts) - MAX_ALLOCATIONS
    return texts if rest <= 0 else [*texts[:MAX_ALLOCATIONS], f"and {rest} more: see peakmark explain"]


def parse_formulas(document: str, name: str, device: str = "") -> list[FormulaRow]:
    """Returns a row for each variant and set of words that has enough shapes. Errors show `name`. Raises InputError."""
    with reading("explain --json", name):
        return [
            FormulaRow(
                entry["variant"],
                words_text(entry["words"]),
                device,
                formula_text(entry["peak"] or entry["partial_peak"]),
                entry["peak"] is not None,
                _allocations(entry["allocations"]),
            )
            for entry in json.loads(document)["variants"]
            if entry["peak"] is not None or entry["partial_peak"] is not None
        ]
