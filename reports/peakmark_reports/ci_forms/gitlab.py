"""GitLab: a metrics report (OpenMetrics text) and a code quality report."""

from __future__ import annotations

import hashlib
import json

from ..assessment import NEED_A_LOOK, STATES, Assessment
from ..groups import Group, groups_of
from ..history_file import METRICS
from .plain import change_text, plain

# The severities that GitLab knows: info, minor, major, critical, blocker.
_SEVERITIES = {
    "regression": "major", "failed": "critical", "window": "major", "rule": "major", "suspicious": "minor", "vanished": "minor",
    "improvement": "info", "recovery": "info",
}
_HELP = {
    "requested_peak_bytes": ("bytes", "most live requested bytes"),
    "gpu_time_ns": ("nanoseconds", "median time of a call"),
    "estimate_ratio": (None, "recorded peak over estimated bytes"),
    "setup_bytes": ("bytes", "live at the end of set-up"),
    "leaked_bytes": ("bytes", "live after the case"),
}


def _label(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace('"', '\\"')


def _number(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def metrics_report(assessment: Assessment) -> str:
    """OpenMetrics text: a family a metric, a line a case on a device. What was not measured has no line.

    GitLab compares the values of two pipelines as text, so bytes stand whole and times with six digits.
    """
    lines = []
    for metric in METRICS:
        unit, help_text = _HELP[metric]
        # OpenMetrics wants a unit at the end of the name that it is the unit of.
        name = f"peakmark_{metric.removesuffix('_ns')}_nanoseconds" if unit == "nanoseconds" else f"peakmark_{metric}"
        measured = [
            (standing, value)
            for standing in assessment.standings
            if (value := standing.history.last_value(metric)) is not None
        ]
        if not measured:
            continue
        lines.append(f"# TYPE {name} gauge\n")
        if unit:
            lines.append(f"# UNIT {name} {unit}\n")
        lines.append(f"# HELP {name} {help_text}\n")
        for standing, value in sorted(measured, key=lambda one: (one[0].history.case, one[0].device.device)):
            labels = f'case="{_label(standing.history.case)}",device="{_label(standing.device.device)}"'
            lines.append(f"{name}{{{labels}}} {_number(value)}\n")
    lines.append("# EOF\n")
    return "".join(lines)


def _issue(group: Group, member, path: str, several_devices: bool) -> dict:
    standing, finding = member.standing, member.finding
    what = Group(group.state, [member]).summary(several_devices)
    check = f"peakmark-{group.state}" + (f"-{finding.change.metric.replace('_', '-')}" if finding else "")
    # The same as long as the change is: GitLab tells new ones from known ones by it.
    identity = "\0".join(
        (standing.history.case, standing.device.device, check, finding.change.run if finding else "")
    )
    return {
        "description": f"{plain(standing.history.case)}: {STATES[group.state]}: "
        + change_text(what, finding.change.allocations if finding else []),
        "check_name": check,
        "fingerprint": hashlib.sha256(identity.encode("utf-8")).hexdigest(),
        "severity": _SEVERITIES[group.state],
        "location": {"path": path, "lines": {"begin": 1}},
    }


def code_quality(assessment: Assessment, path: str) -> str:
    """JSON: an issue a case that needs a look, and metric. `path` names a file of the repository, as GitLab asks."""
    several = len(assessment.history.devices) > 1
    issues = [
        _issue(group, member, path, several)
        for group in groups_of(assessment)["look"]
        if group.state in NEED_A_LOOK
        for member in group.members
    ]
    return json.dumps(issues, indent=1, ensure_ascii=False) + "\n"
