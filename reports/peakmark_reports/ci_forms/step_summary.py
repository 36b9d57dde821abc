"""Markdown for $GITHUB_STEP_SUMMARY, and for any place that shows markdown."""

from __future__ import annotations

import re
from pathlib import Path

from ..assessment import STATES, Assessment
from ..figures_text import relative_text
from ..groups import Group, groups_of
from .plain import plain

# GitHub takes 1 MiB a step and drops the whole summary of one that is larger; a part is left to other writers.
MOST_BYTES = 1024 * 1024 - 8 * 1024
_MARKS = {"regression": "🔴", "failed": "🔴", "window": "🟠", "rule": "🔴", "suspicious": "🟠", "vanished": "🟠"}
_SPECIAL = str.maketrans({one: f"\\{one}" for one in "\\`*_[]#!|~$"} | {"<": "&lt;", "&": "&amp;"})
# A mention or a reference, which a backslash does not stop; the blank that is put into it has no width.
_LINKS = re.compile(r"([@#!])(?=[0-9A-Za-z])")


def markdown_text(text: str) -> str:
    """What is no markup: neither markdown nor HTML, and no mention of anybody."""
    return re.sub("^>", "&gt;", _LINKS.sub(r"\1&#8203;", plain(text).translate(_SPECIAL)))


def markdown_code(text: str) -> str:
    """As code; a backtick or a bar would end it, or the cell of its table."""
    code = plain(text).replace("`", "ˋ").replace("|", "¦")
    return f"`{code}`" if code else ""


def _row(group: Group, several_devices: bool) -> str:
    first = group.first
    name = markdown_code(first.standing.history.case)
    if len(group.members) > 1:
        name = f"{markdown_code(first.standing.history.variant)}, {len(group.members)} cases, most: {name}"
    cause = ""
    if first.finding is not None:
        cause = "<br>".join(markdown_text(one) for one in first.finding.change.allocations[:6])
    state = f"{_MARKS.get(group.state, '🟢')} {STATES[group.state]}"
    return f"| {state} | {name} | {markdown_text(group.summary(several_devices))} | {cause} |\n"


def _case_rows(groups: list[Group]) -> list[str]:
    rows = []
    for group in groups:
        if len(group.members) < 2:
            continue
        for member in group.members:
            relative = relative_text(member.finding.change.relative) if member.finding else "–"
            name = markdown_code(member.standing.history.case)
            rows.append(f"| {name} | {STATES[group.state]} | {relative} | {markdown_text(member.levels)} |\n")
    return rows


_TABLE = "\n| | case | what | at the peak |\n|---|---|---|---|\n"
_CASES = "\n<details><summary>Every case of the above</summary>\n\n| case | | change | what |\n|---|---|---|---|\n"


def step_summary(assessment: Assessment, most_bytes: int = MOST_BYTES) -> str:
    """The verdict, then changes, worst first, in `most_bytes` of UTF-8 at most; what is cut is said and counted."""
    several = len(assessment.history.devices) > 1
    groups = groups_of(assessment)
    parts = [f"## {markdown_text(assessment.headline)}\n"]
    if assessment.history.simulated:
        parts.append("\n**Simulated**: no device was measured.\n")
    if assessment.tally:
        parts.append(f"\n{markdown_text(assessment.tally)}.\n")
    # Room for the last line, which says how much was cut.
    room = most_bytes - sum(len(part.encode()) for part in parts) - 300
    cut = {"changes": 0, "cases": 0}

    def add(lines: list[str], header: str, footer: str, what: str) -> None:
        nonlocal room
        if not lines:
            return
        size = len((header + footer).encode())
        taken = 0
        for line in lines:
            size += len(line.encode())
            if size > room:
                break
            taken += 1
        cut[what] += len(lines) - taken
        if taken:
            part = header + "".join(lines[:taken]) + footer
            parts.append(part)
            room -= len(part.encode())

    told = groups["look"] + groups["good"]
    add([_row(group, several) for group in told], _TABLE, "", "changes")
    add(_case_rows(told), _CASES, "\n</details>\n", "cases")
    if any(cut.values()):
        parts.append(
            f"\nCut to fit the size that CI shows: {cut['changes']:,} of {len(told):,} changes and {cut['cases']:,} "
            "lines of single cases. The report has all of them.\n"
        )
    return "".join(parts)


def append_step_summary(assessment: Assessment, path: Path) -> None:
    """Behind what the file holds already; together they stay below the limit. Raises OSError."""
    held = path.stat().st_size if path.exists() else 0
    text = step_summary(assessment, max(1024, MOST_BYTES - held))
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
