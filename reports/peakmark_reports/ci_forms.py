"""The report in the formats that CI systems show: github-action-benchmark, GitLab."""

from __future__ import annotations

import hashlib
import json
import unicodedata

from .assessment import STATES, Assessment
from .common import metric_name
from .groups import Group, group_findings
from .history_file import METRICS

def plain(text: str) -> str:
    """Returns one line without control characters and surrogates, which XML cannot contain."""
    kept = "".join(" " if unicodedata.category(one) in ("Cc", "Cs") or one in "\ufffe\uffff" else one for one in text)
    return " ".join(kept.split())


def change_text(group_summary: str, allocations: list[str]) -> str:
    """Returns a change and its cause in one line."""
    cause = f"; at the peak: {'; '.join(allocations)}" if allocations else ""
    return plain(group_summary + cause)


UNITS = {"requested_peak_bytes": "B", "setup_bytes": "B", "gpu_time_ns": "ns"}


def benchmark_action(assessment: Assessment) -> str:
    """Returns JSON for the tool `customSmallerIsBetter`: an entry per case and metric for which less is better, so not the
    ratio of an estimator."""
    several = len(assessment.history.devices) > 1
    entries = []
    for status in sorted(assessment.statuses, key=lambda one: (one.history.case, one.device.device)):
        for metric, unit in UNITS.items():
            value = status.history.last_value(metric)
            if value is None:
                continue
            device = f" on {status.device.device}" if several else ""
            entries.append(
                {
                    "name": plain(f"{status.history.case} {metric_name(metric)}{device}"),
                    "unit": unit,
                    "value": value,
                    "extra": plain(f"{status.state}; {status.device.device}"),
                }
            )
    return json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


# The severities that GitLab knows: info, minor, major, critical, blocker.
_SEVERITIES = {
    "regression": "major", "failed": "critical", "window": "major", "rule": "major", "suspicious": "minor",
    "improvement": "info", "recovery": "info",
}
_HELP = {
    "requested_peak_bytes": ("bytes", "max live requested bytes"),
    "gpu_time_ns": ("nanoseconds", "median time of a call"),
    "estimate_ratio": (None, "recorded peak over estimated bytes"),
    "setup_bytes": ("bytes", "live at the end of setup"),
    "leaked_bytes": ("bytes", "live after the case"),
}


def _label(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace('"', '\\"')


def _number(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def metrics_report(assessment: Assessment) -> str:
    """Returns OpenMetrics text: a family per metric, a line per measured case and device.

    GitLab compares the values of two pipelines as text, so bytes are exact and times have six digits.
    """
    lines = []
    for metric in METRICS:
        unit, help_text = _HELP[metric]
        # OpenMetrics requires the unit at the end of the name.
        name = f"peakmark_{metric.removesuffix('_ns')}_nanoseconds" if unit == "nanoseconds" else f"peakmark_{metric}"
        measured = [
            (status, value)
            for status in assessment.statuses
            if (value := status.history.last_value(metric)) is not None
        ]
        if not measured:
            continue
        lines.append(f"# TYPE {name} gauge\n")
        if unit:
            lines.append(f"# UNIT {name} {unit}\n")
        lines.append(f"# HELP {name} {help_text}\n")
        for status, value in sorted(measured, key=lambda one: (one[0].history.case, one[0].device.device)):
            labels = f'case="{_label(status.history.case)}",device="{_label(status.device.device)}"'
            lines.append(f"{name}{{{labels}}} {_number(value)}\n")
    lines.append("# EOF\n")
    return "".join(lines)


def _issue(group: Group, member, path: str, several_devices: bool) -> dict:
    status, finding = member.status, member.finding
    what = Group(group.entry, [member]).member_summary(member, several_devices)
    check = f"peakmark-{group.state}" + (f"-{finding.change.metric.replace('_', '-')}" if finding else "")
    # Constant as long as the change exists: GitLab recognises known issues by it.
    identity = "\0".join(
        (status.history.case, status.device.device, check, finding.change.run if finding else "")
    )
    return {
        "description": f"{plain(status.history.case)}: {STATES[group.state]}: "
        + change_text(what, finding.change.cause if finding else []),
        "check_name": check,
        "fingerprint": hashlib.sha256(identity.encode("utf-8")).hexdigest(),
        "severity": _SEVERITIES[group.state],
        "location": {"path": path, "lines": {"begin": 1}},
    }


def code_quality(assessment: Assessment, path: str) -> str:
    """Returns JSON: an issue per metric of each case that needs attention. `path` is a file of the repository, which GitLab
    requires."""
    several = len(assessment.history.devices) > 1
    groups = group_findings(assessment)
    issues = [
        _issue(group, member, path, several)
        for group in groups["new"] + groups["open"]
        for member in group.members
    ]
    return json.dumps(issues, indent=1, ensure_ascii=False) + "\n"
