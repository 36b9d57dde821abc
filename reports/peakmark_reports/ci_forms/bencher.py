"""Bencher Metric Format: {benchmark: {measure: {value}}}."""

from __future__ import annotations

import json
from typing import Any

from ..assessment import Assessment
from .plain import plain

# Bencher's own measure of ns is called `latency`; the others are made when they first come.
MEASURES = {
    "requested_peak_bytes": "peak-bytes",
    "setup_bytes": "setup-bytes",
    "gpu_time_ns": "latency",
    "estimate_ratio": "peak-over-estimate",
}
MOST_CHARACTERS = 1024


def bencher(assessment: Assessment) -> str:
    """The newest value of every case. With several devices their names come first, since Bencher has one a file."""
    several = len(assessment.history.devices) > 1
    found: dict[str, Any] = {}
    for standing in sorted(assessment.standings, key=lambda one: (one.history.case, one.device.device)):
        measures = {
            measure: {"value": value}
            for metric, measure in MEASURES.items()
            if (value := standing.history.last_value(metric)) is not None
        }
        if measures:
            device = f"{standing.device.device}: " if several else ""
            found[plain(device + standing.history.case)[:MOST_CHARACTERS]] = measures
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
