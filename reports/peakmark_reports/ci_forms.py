"""The report in the formats that CI systems show: Bencher, github-action-benchmark, GitLab, JUnit, GitHub step summary."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from .assessment import NEEDS_ATTENTION, STATES, Assessment, CaseStatus
from .common import metric_name, short_commit
from .groups import Group, Member, group_findings
from .history_file import METRICS

def plain(text: str) -> str:
    """Returns one line without control characters and surrogates, which XML cannot contain."""
    kept = "".join(" " if unicodedata.category(one) in ("Cc", "Cs") or one in "\ufffe\uffff" else one for one in text)
    return " ".join(kept.split())


def change_text(group_summary: str, allocations: list[str]) -> str:
    """Returns a change and its cause in one line."""
    cause = f"; at the peak: {'; '.join(allocations)}" if allocations else ""
    return plain(group_summary + cause)


# `latency` is Bencher's measure of nanoseconds; it creates the others at their first value.
MEASURES = {
    "requested_peak_bytes": "peak-bytes",
    "setup_bytes": "setup-bytes",
    "gpu_time_ns": "latency",
    "estimate_ratio": "peak-over-estimate",
}
MAX_CHARACTERS = 1024


def bencher(assessment: Assessment) -> str:
    """Returns Bencher Metric Format: {benchmark: {measure: {value}}}, the newest value of every case. With several devices,
    names begin with the device, since Bencher has one per file."""
    several = len(assessment.history.devices) > 1
    found: dict[str, Any] = {}
    for status in sorted(assessment.statuses, key=lambda one: (one.history.case, one.device.device)):
        measures = {
            measure: {"value": value}
            for metric, measure in MEASURES.items()
            if (value := status.history.last_value(metric)) is not None
        }
        if measures:
            device = f"{status.device.device}: " if several else ""
            found[plain(device + status.history.case)[:MAX_CHARACTERS]] = measures
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


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
    what = Group(group.state, [member]).summary(several_devices)
    check = f"peakmark-{group.state}" + (f"-{finding.change.metric.replace('_', '-')}" if finding else "")
    # Constant as long as the change exists: GitLab recognises known issues by it.
    identity = "\0".join(
        (status.history.case, status.device.device, check, finding.change.run if finding else "")
    )
    return {
        "description": f"{plain(status.history.case)}: {STATES[group.state]}: "
        + change_text(what, finding.change.allocations if finding else []),
        "check_name": check,
        "fingerprint": hashlib.sha256(identity.encode("utf-8")).hexdigest(),
        "severity": _SEVERITIES[group.state],
        "location": {"path": path, "lines": {"begin": 1}},
    }


def code_quality(assessment: Assessment, path: str) -> str:
    """Returns JSON: an issue per metric of each case that needs attention. `path` is a file of the repository, which GitLab
    requires."""
    several = len(assessment.history.devices) > 1
    issues = [
        _issue(group, member, path, several)
        for group in group_findings(assessment)["open"]
        if group.state in NEEDS_ATTENTION
        for member in group.members
    ]
    return json.dumps(issues, indent=1, ensure_ascii=False) + "\n"


# `error`: not measured. A suspicious case does not fail.
_RESULTS = {
    "regression": "failure", "window": "failure", "rule": "failure", "failed": "error",
    "skipped": "skipped", "left_suite": "skipped",
}


def _texts(status: CaseStatus, several_devices: bool) -> list[str]:
    texts = [
        change_text(
            Group(status.state, [Member(status, finding)]).summary(several_devices), finding.change.allocations
        )
        for finding in status.findings
        if finding.change.open
    ]
    return [*map(plain, status.reasons), *texts] or [STATES[status.state]]


def _result(status: CaseStatus) -> str | None:
    """A case whose bytes were judged passes, even if its times have too few runs."""
    is_unknown = status.state in ("young", "new") and status.history.last_value("requested_peak_bytes") is None
    return "skipped" if is_unknown else _RESULTS.get(status.state)


def junit(assessment: Assessment) -> str:
    """Returns JUnit XML: a test per case, which fails if the case needs attention. The class name, by which viewers group, is
    operation and variant."""
    several = len(assessment.history.devices) > 1
    tests = sorted(assessment.statuses, key=lambda one: (one.history.case, one.device.device))
    results = [_result(status) for status in tests]
    counts = {
        "tests": str(len(tests)),
        "failures": str(results.count("failure")),
        "errors": str(results.count("error")),
        "skipped": str(results.count("skipped")),
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "peakmark trends", **counts, "time": "0"})
    for status, result in zip(tests, results):
        device = f" on {status.device.device}" if several else ""
        test = ElementTree.SubElement(
            suite, "testcase",
            {
                "classname": plain(status.history.variant.replace("/", ".")),
                "name": plain(status.history.case + device),
                "time": "0",
            },
        )
        if result == "skipped":
            ElementTree.SubElement(test, "skipped", {"message": _texts(status, several)[0]})
        elif result is not None:
            texts = _texts(status, several)
            child = ElementTree.SubElement(test, result, {"type": status.state, "message": texts[0]})
            child.text = "\n".join(texts)
        elif status.state != "steady":
            ElementTree.SubElement(test, "system-out").text = "\n".join(
                [STATES[status.state], *_texts(status, several)]
            )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


# GitHub accepts 1 MiB per step and drops larger summaries; other writers of the step need some of it.
MAX_BYTES = 1024 * 1024 - 8 * 1024
_MARKS = {"regression": "🔴", "failed": "🔴", "window": "🟠", "rule": "🔴", "suspicious": "🟠"}
_SPECIAL = str.maketrans({one: f"\\{one}" for one in "\\`*_[]#!|~$"} | {"<": "&lt;", "&": "&amp;"})
# Mentions and references, which a backslash does not escape: a zero-width space does.
_LINKS = re.compile(r"([@#!])(?=[0-9A-Za-z])")


def markdown_text(text: str) -> str:
    """Escapes markdown, HTML and mentions."""
    return re.sub("^>", "&gt;", _LINKS.sub(r"\1&#8203;", plain(text).translate(_SPECIAL)))


def markdown_code(text: str) -> str:
    """Formats as code; replaces backticks and bars, which would end it or its table cell."""
    code = plain(text).replace("`", "ˋ").replace("|", "¦")
    return f"`{code}`" if code else ""


def _commits(group: Group, assessment: Assessment) -> str:
    """Returns `[1a2b3c](…)..[4d5e6f](…)`, linked if the addresses of commits are known; empty if one is unknown."""
    finding = group.first.finding
    if finding is None or not finding.change.commit or not finding.change.commit_before:
        return ""
    texts = []
    for commit in (finding.change.commit_before, finding.change.commit):
        text, link = markdown_text(short_commit(commit)), assessment.trends.commit_link(commit)
        texts.append(f"[{text}]({link})" if link else text)
    return "..".join(texts)


def _row(group: Group, assessment: Assessment, several_devices: bool) -> str:
    first = group.first
    name = markdown_code(first.status.history.case)
    if len(group.members) > 1:
        name = f"{markdown_code(group.name)}, {len(group.members)} cases, largest: {name}"
    cause = ""
    if first.finding is not None:
        causes = [markdown_text(one) for one in first.finding.change.allocations[:6]]
        cause = "<br>".join(filter(None, [*causes, _commits(group, assessment)]))
    state = f"{_MARKS.get(group.state, '🟢')} {STATES[group.state]}"
    return f"| {state} | {name} | {markdown_text(group.summary(several_devices))} | {cause} |\n"


def _case_rows(groups: list[Group]) -> list[str]:
    rows = []
    for group in groups:
        if len(group.members) < 2:
            continue
        for member in group.members:
            relative = member.finding.change.step if member.finding else "–"
            name = markdown_code(member.status.history.case)
            if len(group.devices) > 1:
                name += f" on {markdown_text(member.status.device.device)}"
            rows.append(f"| {name} | {STATES[group.state]} | {relative} | {markdown_text(member.levels)} |\n")
    return rows


_TABLE = "\n| | case | what | at the peak |\n|---|---|---|---|\n"
_CASES = "\n<details><summary>All cases of the table</summary>\n\n| case | | change | what |\n|---|---|---|---|\n"


def step_summary(assessment: Assessment, max_bytes: int = MAX_BYTES) -> str:
    """Returns markdown: the verdict, then changes, worst first, in at most `max_bytes` of UTF-8. Reports how much was cut."""
    several = len(assessment.history.devices) > 1
    groups = group_findings(assessment)
    parts = [f"## {markdown_text(assessment.headline)}\n"]
    if assessment.history.simulated:
        parts.append("\n**Simulated**: no device was measured.\n")
    if assessment.tally:
        parts.append(f"\n{markdown_text(assessment.tally)}.\n")
    # 300 bytes are left for the last line, which reports how much was cut.
    free = max_bytes - sum(len(part.encode()) for part in parts) - 300
    cut = {"changes": 0, "cases": 0}

    def add(lines: list[str], header: str, footer: str, what: str) -> None:
        nonlocal free
        if not lines:
            return
        size = len((header + footer).encode())
        taken = 0
        for line in lines:
            size += len(line.encode())
            if size > free:
                break
            taken += 1
        cut[what] += len(lines) - taken
        if taken:
            part = header + "".join(lines[:taken]) + footer
            parts.append(part)
            free -= len(part.encode())

    reported = groups["open"] + groups["improved"]
    add([_row(group, assessment, several) for group in reported], _TABLE, "", "changes")
    add(_case_rows(reported), _CASES, "\n</details>\n", "cases")
    if any(cut.values()):
        parts.append(
            f"\nCut to the maximum size of CI summaries: {cut['changes']:,} of {len(reported):,} changes and {cut['cases']:,} "
            "lines of single cases. The report has all.\n"
        )
    return "".join(parts)


def append_step_summary(assessment: Assessment, path: Path) -> None:
    """Appends to the file; together they stay below the limit. Raises OSError."""
    held = path.stat().st_size if path.exists() else 0
    text = step_summary(assessment, max(1024, MAX_BYTES - held))
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
