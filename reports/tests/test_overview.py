"""Tests the first screen of the report: devices and branches, and what is new."""

import json
import re

import pytest
from peakmark_reports.__main__ import main
from peakmark_reports.overview import counts, named_groups, overview
from peakmark_reports.page import render_page
from peakmark_reports.page_data import entries
from sample_history import PEAK, assessed, case, change, device_cases, finding, history_run, series_text, state, trends_text, write_files
from test_report_page import Parsed, read_data

DEVICES = ("a device", "b device")
NAMES = [f"padding/old/n:{i}" for i in range(6)]


def team(changes, states=(), **more):
    runs = [history_run(i, device, branch="main", suite="nightly") for i in range(30) for device in DEVICES]
    return assessed(device_cases(runs, DEVICES, NAMES), changes, runs=runs, states=list(states), **more)


def on_b(name, at, **more):
    return change(name, at, device="b device", run=history_run(at, "b device")["id"], **more)


def test_each_device_has_its_counts():
    assessment = team(
        [on_b(NAMES[0], 20)],
        [
            state(NAMES[1], "failed", device="b device"), state(NAMES[2], "left_suite", device="b device"),
            state(NAMES[3], "skipped", device="b device"), state(NAMES[4], "window", device="b device"),
        ],
    )
    of = entries([assessment])
    assert [counts(entry.statuses) for entry in of] == [
        {"passed": 6, "failed": 0, "skipped": 0, "not_measured": 0},
        {"passed": 1, "failed": 2, "skipped": 2, "not_measured": 1},
    ]
    a, b = overview(of, named_groups(of))
    assert a.open == [] and a.cases == "#state=&device=a+device+%28opencl%29&branch=main"
    assert b.newest.id == "run29@b device" and b.before.id == "run28@b device"
    assert {one.group.state for one in b.open} == {"regression", "failed", "window"}


def test_what_is_new_comes_first_and_apart():
    page_of = team([on_b(NAMES[0], 20, relative=0.5), on_b(NAMES[1], 29, new=True, relative=0.1)])
    (_, row) = overview(entries([page_of]), named_groups(entries([page_of])))
    assert [one.group.first.status.history.case for one in row.open] == [NAMES[1], NAMES[0]]
    assert (row.new_count, [one.is_new for one in row.open]) == (1, [True, False])


@pytest.mark.parametrize("is_new", [False, True])
def test_a_cause_on_two_devices_is_one_finding(is_new):
    """One that was there on one device before is not new, though the other has it since its newest run."""
    changes = [change(NAMES[0], 29, new=is_new), on_b(NAMES[0], 29, new=True, relative=0.5)]
    section = "new" if is_new else "open"
    shared = finding([1, 0], changes, finding="fedcba987654", section=section, new=is_new)
    assessment = team(changes, findings=[shared])
    of = entries([assessment])
    (group,) = named_groups(of)[0][section]
    assert group.group.short_text == f"padding/old: peak {PEAK} → {PEAK + 4096}, 2 cases on 2 devices"
    assert (group.anchor, group.is_new) == ("finding-fedcba987654", is_new)
    assert group.group.summary(True) == (
        f"{'new: ' if is_new else ''}peak {PEAK} → {PEAK + 4096}, since 2026-02-02, on 2 devices: b device, a device"
    )
    assert [[one.anchor for one in row.open] for row in overview(of, named_groups(of))] == [["finding-fedcba987654"]] * 2
    page = Parsed(render_page(of, assessment, [], [], "a title"))
    assert "on a device (opencl)" in page.text and "on b device (opencl)" in page.text


def test_without_a_common_cause_each_device_has_its_finding():
    assessment = team([change(NAMES[0], 29), on_b(NAMES[0], 29)])
    assert len(named_groups(entries([assessment]))[0]["open"]) == 2


def test_the_page_separates_new_from_open(tmp_path):
    runs = [history_run(i) for i in range(30)]
    changes = [change("padding/a", 20), change("filter/b", 29, new=True)]
    findings = [finding([1], changes, finding="0123456789ab"), finding([0], changes)]
    options = write_files(tmp_path, series_text(runs, [case("padding/a", 30), case("filter/b", 30)]), trends_text(changes, findings=findings))
    assert main(["report", "-o", str(tmp_path / "report"), *options]) == 0
    text = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    page = Parsed(text)
    assert page.text.index("Overview") < page.text.index("New since the previous run") < page.text.index("Still open")
    new, still_open = text.index("<h3>New since"), text.index("<h3>Still open")
    assert new < text.index('id="finding-0123456789ab"') < still_open < text.index('id="open-0-0"')
    assert {"href": "#finding-0123456789ab"} in page.of("a") and {"href": "#open-0-0"} in page.of("a")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    # Every link within the page has its target, or names a case or a comparison.
    targets = [one["href"][1:] for one in page.of("a") if one.get("href", "").startswith("#")]
    assert targets and not [one for one in targets if one not in ids and not re.match("case=|state=|compare=", one)]


@pytest.fixture
def peakmark(tmp_path):
    """A program that prints like peakmark: a base branch and the branches pull/1 and pull/2."""
    main_runs = [history_run(i, branch="main", suite="nightly") for i in range(3)]
    files = {"main": (series_text(main_runs, [case("padding/a", 3)]), trends_text())}
    for number in (1, 2):
        runs = [*main_runs, history_run(3, branch=f"pull/{number}", suite="nightly", id=f"pull{number}")]
        changes = [change("padding/a", 3, run="pull1", new=True)] if number == 1 else []
        base = [{"text": f"suite nightly of pull/{number} against main at its merge base 1234567"}]
        files[f"pull/{number}"] = (series_text(runs, [case("padding/a", 4)]), trends_text(changes, branches=base))
    program = tmp_path / "peakmark"
    lines = []
    for branch, (series, trends) in files.items():
        name = branch.replace("/", "-")
        (tmp_path / f"{name}.jsonl").write_text(series)
        (tmp_path / f"{name}.json").write_text(trends)
        option = "" if branch == "main" else f" --branch={branch}"
        lines.append(f'"history export --format series --max-runs=400{option}") cat {tmp_path}/{name}.jsonl ;;')
        lines.append(f'"trends --json{option}") cat {tmp_path}/{name}.json ;;')
    log = {"runs": [{"branch": name} for name in ("pull/2", "pull/1", "main", "")]}
    (tmp_path / "log.json").write_text(json.dumps(log))
    lines.append(f'"history log --all --json") cat {tmp_path}/log.json ;;')
    lines.append('"history export --run latest --format run") ;;')
    program.write_text('#!/bin/sh\ncase "$*" in\n' + "\n".join(lines) + '\n*) echo "unknown: $*" >&2; exit 2 ;;\nesac\n')
    program.chmod(0o700)
    return program


def test_branches_are_next_to_the_base_branch(tmp_path, peakmark):
    assert main(["report", "--peakmark", str(peakmark), "-o", str(tmp_path / "report"), "--branch=pull/*", "--branch=main"]) == 0
    page = Parsed((tmp_path / "report" / "index.html").read_text(encoding="utf-8"))
    data = json.loads(page.data)
    assert [one["branch"] for one in data["devices"]] == ["main", "pull/2", "pull/1"]
    assert "pull/1: 1 case needs attention" in page.text and "pull/2: Nothing to do" in page.text
    assert "suite nightly of pull/1 against main at its merge base 1234567" in page.text
    assert "compare with the base" in page.text and "compare with the run before" in page.text
    links = [one["href"] for one in page.of("a") if "compare=" in one.get("href", "")]
    assert links[-1] == "#compare=run2%40a+device..pull1&device=a+device+%28opencl%29&branch=pull%2F1"
    assert [run["id"] for run in read_data(tmp_path / "report", "device-2")["runs"]][-1] == "pull1"
    # The verdict is that of the base branch.
    assert next(text for tag, text in zip([tag for tag, _ in page.elements], page.elements) if tag == "h1")[1]["class"] == "good"


def test_a_branch_without_a_run_is_an_error(tmp_path, peakmark, capsys):
    report = ["report", "--peakmark", str(peakmark), "-o", str(tmp_path / "report")]
    assert main([*report, "--branch=pull/3"]) == 2
    assert "--branch pull/3: no run of this branch" in capsys.readouterr().err
    # A nightly may ask for all before there is one.
    assert main([*report, "--branch=merge-request/*"]) == 0


def test_without_branches_none_is_read(tmp_path, peakmark):
    assert main(["report", "--peakmark", str(peakmark), "-o", str(tmp_path / "report")]) == 0
    page = Parsed((tmp_path / "report" / "index.html").read_text(encoding="utf-8"))
    assert [one["branch"] for one in json.loads(page.data)["devices"]] == ["main"]
    assert "Branches" not in page.text
