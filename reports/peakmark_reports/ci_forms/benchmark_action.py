"""github-action-benchmark: JSON for its tool `customSmallerIsBetter`."""

from __future__ import annotations

import json

from ..assessment import Assessment
from ..figures_text import metric_name
from .plain import plain

UNITS = {"requested_peak_bytes": "B", "setup_bytes": "B", "gpu_time_ns": "ns"}


def benchmark_action(assessment: Assessment) -> str:
    """An entry a case and metric of which less is better; the ratio of an estimator is none of those."""
    several = len(assessment.history.devices) > 1
    entries = []
    for standing in sorted(assessment.standings, key=lambda one: (one.history.case, one.device.device)):
        for metric, unit in UNITS.items():
            value = standing.history.last_value(metric)
            if value is None:
                continue
            device = f" on {standing.device.device}" if several else ""
            entries.append(
                {
                    "name": plain(f"{standing.history.case} {metric_name(metric)}{device}"),
                    "unit": unit,
                    "value": value,
                    "extra": plain(f"{standing.state}; {standing.device.device}"),
                }
            )
    return json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
