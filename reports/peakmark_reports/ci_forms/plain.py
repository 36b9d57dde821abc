"""Texts of programs made fit for a form. Pure."""

from __future__ import annotations

import unicodedata


def plain(text: str) -> str:
    """One line, without control characters or half surrogate pairs: no XML can hold them."""
    kept = "".join(" " if unicodedata.category(one) in ("Cc", "Cs") or one in "\ufffe\uffff" else one for one in text)
    return " ".join(kept.split())


def change_text(group_summary: str, allocations: list[str]) -> str:
    """A change and what caused it, in one line."""
    cause = f"; at the peak: {'; '.join(allocations)}" if allocations else ""
    return plain(group_summary + cause)
