"""Writes the lines of `peakmark history export --format jsonl` as a Parquet file."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pandas

from .common import InputError

# Every column with its type, so that files of any history can be joined. Bytes are integers that can be null.
COLUMNS = {
    "run": "string", "date": "datetime64[ns, UTC]", "suite": "string", "commit": "string", "branch": "string",
    "device": "string", "backend": "string", "driver": "string", "case": "string", "outcome": "string",
    "requested_peak_bytes": "Int64", "setup_bytes": "Int64", "leaked_bytes": "Int64", "gpu_time_ns": "Float64",
    "estimate_ratio": "Float64",
}  # fmt: skip
# Tested with this version.
PYARROW = "pyarrow==26.0.1"


def parse_rows(lines: Iterable[str]) -> pandas.DataFrame:
    """Returns a row per line with the columns COLUMNS; empty texts are null."""
    values: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            for name, column in values.items():
                value = row[name]
                column.append(None if value == "" else value)
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(f"line {number} of the export: not a line of jsonl: {error!r}") from error
    frame = {}
    for name, dtype in COLUMNS.items():
        column = pandas.Series(values[name], dtype="object")
        frame[name] = pandas.to_datetime(column, utc=True) if name == "date" else column.astype(dtype)
    return pandas.DataFrame(frame)


def write_parquet(lines: Iterable[str], path: Path) -> list[Path]:
    """Writes the file whole or not at all. Raises InputError without pyarrow."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(
            f"Parquet needs the Python module pyarrow, which is missing in {sys.executable}: install it with\n"
            f"  {sys.executable} -m pip install {PYARROW}\n"
            "or set PEAKMARK_PYTHON to the Python of a virtual environment that has it"
        ) from error
    rows = parse_rows(lines)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name + ".new-")
    os.close(descriptor)
    try:
        rows.to_parquet(name, engine="pyarrow", index=False)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return [path]
