"""Parses and formats sizes like the commands of peakmark."""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {
    "": 1, "B": 1,
    "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50,
}  # fmt: skip
_SIZE = re.compile(r"(\d+(?:\.\d+)?) *([A-Za-z]*)", re.ASCII)
_MAX = 2**63 - 1


class SizeError(ValueError):
    """The value is not a size."""


def parse_size(size: object) -> int:
    """Returns the bytes of `24 MB`, `16GiB`, `1.5 GiB`, `4096`, or of a number of bytes. kB to TB are powers of 1000, KiB to
    PiB of 1024. Raises SizeError if the value is not a size."""
    if isinstance(size, int) and not isinstance(size, bool):
        if not 0 <= size <= _MAX:
            raise SizeError(f"{size} is not a size: it must be from 0 to 2^63 - 1")
        return size
    how = "write bytes, or a number with a unit such as '24 MB' or '16GiB'"
    if not isinstance(size, str):
        raise SizeError(f"{size!r}, a {type(size).__name__}, is not a size: {how}")
    match = _SIZE.fullmatch(size)
    if match is None:
        raise SizeError(f"'{size}' is not a size: {how}")
    number, unit = match.groups()
    if unit not in _UNITS:
        raise SizeError(f"'{size}' is not a size: unknown unit '{unit}'; {how}")
    size_in_bytes = Fraction(number) * _UNITS[unit]
    if size_in_bytes.denominator != 1:
        raise SizeError(f"'{size}' is not a size: it is not a whole number of bytes")
    if size_in_bytes > _MAX:
        raise SizeError(f"'{size}' is not a size: it does not fit 64 bits")
    return int(size_in_bytes)


def format_size(size: int) -> str:
    """Returns the size with at most four digits: `0 B`, `1.5 KiB`, `16 GiB`."""
    value, unit = float(size), 0
    names = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    while abs(value) >= 1024 and unit + 1 < len(names):
        value /= 1024
        unit += 1
    if unit == 0:
        return f"{size} B"
    digits = f"{value:.4g}"
    if digits in ("1024", "-1024") and unit + 1 < len(names):
        digits, unit = ("-1" if digits[0] == "-" else "1"), unit + 1
    return f"{digits} {names[unit]}"


def exact_size(size: int) -> str:
    """Returns the size with its exact bytes: `1.5 KiB (1536 B)`."""
    return f"{size} B" if size < 1024 else f"{format_size(size)} ({size} B)"


def quantity(count: int, one: str, many: str = "") -> str:
    """Returns a number with its noun: `1 slice`, `2 slices`. `many`: the plural, if it is not `one` with an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"
