"""The page set of a report: index.html, figures/ and data/, complete in one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from .assessment import STATES, Assessment
from .errors import InputError
from .estimators import estimator_rows
from .figures_text import metric_name, quantity
from .groups import Group, groups_of
from .page_data import chunks, device_label, environment_marks, page_data
from .pictures import FOLDER, Wanted, draw_pictures
from .run_file import Run
from .sparkline import sparkline

PAGE = "index.html"
DATA = "data"
# By this a folder is known to be a report's, whose files may be replaced.
GENERATOR = '<meta name="generator" content="peakmark report">'
# A page of thousands of changes would be read by nobody; the rest stands in the list of cases.
MOST_GROUPS, MOST_MEMBERS = 60, 200
# Bars side by side of which each can still be seen.
MOST_BARS = 16
# Nights from which on times are judged, as trends has it.
LEAST_NIGHTS = 20
_COLOURS = {
    "regression": "--bad", "failed": "--bad", "window": "--warn", "rule": "--bad", "suspicious": "--warn", "vanished": "--warn",
    "improvement": "--good", "recovery": "--good",
}


class PageError(InputError):
    """The page set cannot be written there; the message says why and what to do."""


def _json(value: Any) -> Markup:
    """JSON that may stand within a page: no <, >, & or quote of HTML in it, and nothing but ASCII."""
    return htmlsafe_json_dumps(value, dumps=json.dumps, separators=(",", ":"), allow_nan=False)


def _shown_group(group: Group, assessment: Assessment, marks: dict[int, list[int]], several_devices: bool) -> dict:
    def link(member) -> str:
        address = {"case": member.standing.history.case}
        if several_devices:
            address["device"] = device_label(member.standing.device)
        return f"#{urlencode(address)}"

    members = [
        {
            "case": member.standing.history.case,
            "link": link(member),
            "levels": member.levels,
            "allocations": member.finding.change.allocations if member.finding else [],
        }
        for member in group.members[: MOST_MEMBERS + 1]
    ]
    first = group.first
    series = first.standing.history.series
    metric = group.metric or next((one for one in ("requested_peak_bytes", "gpu_time_ns") if one in series), None)
    if group.state == "window" and "estimate_ratio" in series:
        metric = "estimate_ratio"
    line = Markup("")
    if metric in series:
        at = first.finding.at if first.finding else None
        line = sparkline(
            series[metric], metric, at, _COLOURS.get(group.state, "--quiet"), marks[id(first.standing.device)]
        )
    return {
        "state": group.state,
        "variant": first.standing.history.variant,
        "metric": group.metric,
        "members": members + [None] * (len(group.members) - len(members)),
        "first": members[0],
        "summary": group.summary(several_devices),
        "hints": group.hints(assessment),
        "sparkline": line,
    }


def _standing_lines(assessment: Assessment) -> list[str]:
    """What the verdict rests on."""
    devices = assessment.history.devices
    lines = []
    newest = max((device.nights[-1].date for device in devices if device.nights), default="")
    if newest:
        count = assessment.history.cases
        lines.append(
            f"{count:,} case{'' if count == 1 else 's'} on {len(devices)} device{'' if len(devices) == 1 else 's'}, "
            f"{quantity(assessment.nights, 'night')}; the newest is of {newest[:10]}."
        )
    if assessment.nights == 1:
        lines.append("One night is no history: there is no baseline yet. Bytes are compared from the second night on.")
    elif 1 < assessment.nights < LEAST_NIGHTS:
        lines.append(f"Times are judged after {LEAST_NIGHTS} nights; bytes are compared already.")
    elif young := assessment.count("young"):
        lines.append(f"{young:,} case{' has' if young == 1 else 's have'} too few nights for a verdict on times.")
    return lines


def _device_entries(assessment: Assessment) -> list[dict[str, Any]]:
    entries = []
    for device in assessment.history.devices:
        changes = [one for one in assessment.trends.environment_changes if one.run in device.place_of]
        nights = device.nights
        summary = quantity(len(nights), "night")
        if nights:
            summary += f", {nights[0].date[:10]} to {nights[-1].date[:10]}"
            summary += f"; driver {nights[-1].driver}" if nights[-1].driver else ""
        entries.append(
            {
                "device": device.device, "backend": device.backend, "summary": summary,
                "changes": sorted(changes, key=lambda one: device.place_of[one.run], reverse=True),
            }
        )
    return entries


def render_page(assessment: Assessment, runs: list[Run], pictures: list, title: str) -> str:
    """The text of index.html. Whatever comes out of the history is escaped."""
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
        part: [_shown_group(group, assessment, marks, several_devices) for group in found[: MOST_GROUPS + 1]]
        + [None] * (len(found) - MOST_GROUPS - 1)
        for part, found in groups_of(assessment).items()
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
        standing_lines=_standing_lines(assessment),
        estimators=estimator_rows(runs),
        pictures=pictures,
        shapes=any(picture.kind != "estimates" for picture in pictures),
        several_devices=several_devices,
        devices=_device_entries(assessment),
        accepted=assessment.trends.accepted,
        metric_name=metric_name,
        most_groups=MOST_GROUPS,
        most_members=MOST_MEMBERS,
    )


def _make_room(folder: Path) -> None:
    """A new folder, an empty one, or an earlier report, whose own files go."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    if any(folder.iterdir()):
        if not page.is_file() or GENERATOR not in page.read_text(encoding="utf-8", errors="replace")[:2000]:
            raise PageError(f"{folder}: holds other files than a report's; name an empty or a new folder")
        for part, endings in ((DATA, (".js",)), (FOLDER, (".svg", ".png"))):
            for path in sorted((folder / part).glob("*")):
                if path.suffix in endings:
                    path.unlink()


def write_page(assessment: Assessment, runs: list[Run], folder: Path, title: str = "peakmark report") -> Path:
    """Writes the page set and returns its first page, which is written last. Raises PageError, or OSError."""
    _make_room(folder)
    pictures = draw_pictures(runs, folder / FOLDER, Wanted(max_bars=MOST_BARS))
    text = render_page(assessment, runs, pictures, title)
    (folder / DATA).mkdir(exist_ok=True)
    for number, cases in enumerate(chunks(assessment)):
        path = folder / DATA / f"cases-{number}.js"
        path.write_text(f"peakmarkCases({number},{_json(cases)});\n", encoding="ascii")
    page = folder / PAGE
    page.write_text(text, encoding="utf-8")
    return page
