"""The pages of a report: index.html, figures/ and data/, complete in one folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from .assessment import STATES, Assessment
from .common import InputError, metric_name, quantity, short_commit, value_text
from .formula_table import FormulaRow
from .groups import Group, group_findings
from .page_data import chunks, device_label, environment_marks, page_data
from .plots import FOLDER, PlotOptions, draw_pictures
from .run_file import Run, estimator_rows

WIDTH, HEIGHT, EDGE = 220, 52, 5
# Runs of a sparkline.
MAX_RUNS = 150
# Runs before the change that are always shown.
BEFORE = 30


def _path(values: list[float | int | None], steps: bool) -> tuple[list[tuple[float, float] | None], str]:
    measured = [value for value in values if value is not None]
    low, high = min(measured), max(measured)
    scale = (HEIGHT - 2 * EDGE) / (high - low) if high > low else 0
    across = (WIDTH - 2 * EDGE) / max(1, len(values) - 1)
    points: list[tuple[float, float] | None] = []
    path, is_open = "", False
    for i, value in enumerate(values):
        if value is None:
            points.append(None)
            is_open = False
            continue
        x = EDGE + i * across
        y = HEIGHT - EDGE - (value - low) * scale if scale else HEIGHT / 2
        points.append((x, y))
        if not is_open:
            # A single run between two without a value is a dash.
            path += f"M{x - 1:.1f} {y:.1f}h2" if not steps else f"M{x:.1f} {y:.1f}h1"
        else:
            path += f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f} {y:.1f}"
        is_open = True
    return points, path


def sparkline(
    values: list[float | int | None], metric: str, at: int | None, colour: str, environment: list[int] | None = None
) -> Markup:
    """Returns an SVG element; empty if nothing was measured. `at`: the run of the change; `colour`: a CSS variable.

    `environment`: runs in which the device's environment changed.
    """
    first = max(0, len(values) - MAX_RUNS)
    if at is not None:
        first = min(first, max(0, at - BEFORE))
    shown = values[first:]
    measured = [value for value in shown if value is not None]
    if not measured:
        return Markup("")
    points, path = _path(shown, metric != "gpu_time_ns")
    across = (WIDTH - 2 * EDGE) / max(1, len(shown) - 1)
    lines = Markup("").join(
        Markup('<line class="mark" x1="{0}" x2="{0}" y1="0" y2="{1}"/>').format(
            f"{EDGE + (run - first) * across:.1f}", HEIGHT
        )
        for run in environment or []
        if run >= first
    )
    dot = Markup("")
    if at is not None and points[at - first] is not None:
        x, y = points[at - first]
        dot = Markup('<circle cx="{}" cy="{}" r="4" style="fill:var({})"/>').format(f"{x:.1f}", f"{y:.1f}", colour)
    label = (
        f"{metric_name(metric)} over {quantity(len(shown), 'run')}: from {value_text(metric, measured[0])} to "
        f"{value_text(metric, measured[-1])}, min {value_text(metric, min(measured))}, "
        f"max {value_text(metric, max(measured))}"
    )
    return Markup(
        '<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}">{}'
        '<path class="line" d="{}"/>{}</svg>'
    ).format(WIDTH, HEIGHT, label, lines, Markup(path), dot)


PAGE = "index.html"
DATA = "data"
# Identifies the folder of a report, whose files may be replaced.
GENERATOR = '<meta name="generator" content="peakmark report">'
# Max groups and cases of the findings; the list of cases has all cases.
MAX_GROUPS, MAX_MEMBERS = 60, 200
# More bars side by side cannot be distinguished.
MAX_BARS = 16
# Min number of runs for judging times, as in `trends`.
MIN_RUNS = 20
_COLOURS = {
    "regression": "--bad", "failed": "--bad", "window": "--warn", "rule": "--bad", "suspicious": "--warn", "vanished": "--warn",
    "improvement": "--good", "recovery": "--good",
}


class PageError(InputError):
    """The report cannot be written to this folder."""


def _json(value: Any) -> Markup:
    """Returns ASCII JSON that is safe within HTML."""
    return htmlsafe_json_dumps(value, dumps=json.dumps, separators=(",", ":"), allow_nan=False)


def _shown_group(group: Group, assessment: Assessment, marks: dict[int, list[int]], several_devices: bool) -> dict:
    def link(member) -> str:
        address = {"case": member.status.history.case}
        if several_devices:
            address["device"] = device_label(member.status.device)
        return f"#{urlencode(address)}"

    members = [
        {
            "case": member.status.history.case,
            "link": link(member),
            "levels": member.levels,
            "allocations": member.finding.change.allocations if member.finding else [],
        }
        for member in group.members[: MAX_MEMBERS + 1]
    ]
    first = group.first
    series = first.status.history.series
    metric = group.metric or next((one for one in ("requested_peak_bytes", "gpu_time_ns") if one in series), None)
    if group.state == "window" and "estimate_ratio" in series:
        metric = "estimate_ratio"
    line = Markup("")
    if metric in series:
        at = first.finding.at if first.finding else None
        line = sparkline(
            series[metric], metric, at, _COLOURS.get(group.state, "--quiet"), marks[id(first.status.device)]
        )
    return {
        "state": group.state,
        "name": group.name,
        "metric": group.metric,
        "commits": _commits(group, assessment),
        "compare": group.cause.compare if group.cause else "",
        "members": members + [None] * (len(group.members) - len(members)),
        "first": members[0],
        "summary": group.summary(several_devices),
        "hints": group.hints(assessment),
        "sparkline": line,
    }


def _commits(group: Group, assessment: Assessment) -> list[dict[str, str]]:
    """Returns the last good and the first bad commit of the largest change; empty if one is unknown."""
    finding = group.first.finding
    if finding is None or not finding.change.commit or not finding.change.commit_before:
        return []
    return [
        {"name": name, "commit": short_commit(commit), "link": assessment.trends.commit_link(commit)}
        for name, commit in (("last before", finding.change.commit_before), ("first with it", finding.change.commit))
    ]


def _basis_lines(assessment: Assessment) -> list[str]:
    """Returns the data that the verdict is based on."""
    devices = assessment.history.devices
    lines = []
    newest = max((device.runs[-1].date for device in devices if device.runs), default="")
    if newest:
        count = assessment.history.cases
        lines.append(
            f"{count:,} case{'' if count == 1 else 's'} on {len(devices)} device{'' if len(devices) == 1 else 's'}, "
            f"{quantity(assessment.run_count, 'run')}; the newest on {newest[:10]}."
        )
    if assessment.run_count == 1:
        lines.append("First run: no baseline yet. Bytes are compared from the second run on.")
    elif 1 < assessment.run_count < MIN_RUNS:
        lines.append(f"{assessment.run_count} of {MIN_RUNS} runs needed before times are judged; bytes are already compared.")
    elif young := assessment.count("young"):
        lines.append(f"{young:,} case{' has' if young == 1 else 's have'} too few runs to judge times.")
    return lines


def _device_entries(assessment: Assessment) -> list[dict[str, Any]]:
    entries = []
    for device in assessment.history.devices:
        changes = [one for one in assessment.trends.environment_changes if one.run in device.run_index]
        runs = device.runs
        summary = quantity(len(runs), "run")
        if runs:
            summary += f", {runs[0].date[:10]} to {runs[-1].date[:10]}"
            summary += f"; driver {runs[-1].driver}" if runs[-1].driver else ""
        entries.append(
            {
                "device": device.device, "backend": device.backend, "summary": summary,
                "changes": sorted(changes, key=lambda one: device.run_index[one.run], reverse=True),
            }
        )
    return entries


def render_page(
    assessment: Assessment, runs: list[Run], pictures: list, title: str, formulas: Sequence[FormulaRow] = ()
) -> str:
    """Returns the text of index.html. Escapes all text of the history."""
    environment = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )
    several_devices = len(assessment.history.devices) > 1
    changes = assessment.trends.environment_changes
    marks = {
        id(device): [mark["at"] for mark in environment_marks(device, changes)]
        for device in assessment.history.devices
    }
    groups = {
        part: [_shown_group(group, assessment, marks, several_devices) for group in found[: MAX_GROUPS + 1]]
        + [None] * (len(found) - MAX_GROUPS - 1)
        for part, found in group_findings(assessment).items()
    }
    loader = environment.loader
    return environment.get_template("page.html.j2").render(
        assessment=assessment,
        title=title,
        css=Markup(loader.get_source(environment, "page.css")[0]),
        script=Markup("".join(loader.get_source(environment, name)[0] for name in ("chart.js", "page.js"))),
        data=_json(page_data(assessment)),
        groups=groups,
        states=STATES,
        basis_lines=_basis_lines(assessment),
        estimators=estimator_rows(runs),
        formulas=formulas,
        pictures=pictures,
        shapes=any(picture.kind != "estimates" for picture in pictures),
        several_devices=several_devices,
        devices=_device_entries(assessment),
        accepted=assessment.trends.accepted,
        metric_name=metric_name,
        max_groups=MAX_GROUPS,
        max_members=MAX_MEMBERS,
    )


def _prepare_folder(folder: Path) -> None:
    """Creates the folder, or removes the files of an earlier report. Raises PageError if it has other files."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    if any(folder.iterdir()):
        if not page.is_file() or GENERATOR not in page.read_text(encoding="utf-8", errors="replace")[:2000]:
            raise PageError(f"{folder}: contains other files than a report's; name an empty or a new folder")
        for part, endings in ((DATA, (".js",)), (FOLDER, (".svg", ".png"))):
            for path in sorted((folder / part).glob("*")):
                if path.suffix in endings:
                    path.unlink()


def write_page(
    assessment: Assessment, runs: list[Run], folder: Path, title: str = "peakmark report", formulas: Sequence[FormulaRow] = ()
) -> Path:
    """Writes the report and returns index.html, which is written last. Raises PageError or OSError."""
    _prepare_folder(folder)
    pictures = draw_pictures(runs, folder / FOLDER, PlotOptions(max_bars=MAX_BARS))
    text = render_page(assessment, runs, pictures, title, formulas)
    (folder / DATA).mkdir(exist_ok=True)
    for number, cases in enumerate(chunks(assessment)):
        path = folder / DATA / f"cases-{number}.js"
        path.write_text(f"peakmarkCases({number},{_json(cases)});\n", encoding="ascii")
    page = folder / PAGE
    page.write_text(text, encoding="utf-8")
    return page
