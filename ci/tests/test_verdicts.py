"""Walks the tables of docs/verdicts.md with the commands themselves: what happened to a case × command → exit code and word.

A run of three cases on `dry` is measured once. For each row, a copy of its file is changed, and dated a day later.
"""

import copy
import datetime
import json
import math
import random as random_numbers
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import pytest
import team_project

SUITE = """name = "nightly"
backend = "dry"
[[sweep]]
variants = "padding/coords1d"
axes.mode = "edge"
zip = [{ n = [20, 24, 28], ny = [30, 31, 32], nx = [50, 51, 52] }]
"""
TABLE = (team_project.ROOT / "docs/verdicts.md").read_text(encoding="utf-8")
GROWN = 4096


def observations(run: dict) -> list[dict]:
    return [row["peakmark"] for row in run["benchmarks"] if "peakmark" in row]


def of_context(run: dict) -> dict:
    return run["context"]["peakmark"]


def peak_of(run: dict, bytes_more: int) -> None:
    one = observations(run)[0]
    for key in ("requested_peak_bytes", "first_call_peak_bytes", "second_pass_peak_bytes"):
        one[key] += bytes_more
    for estimate in filter(None, (one.get("estimate"), *one.get("estimates", []))):
        estimate["bytes_estimated"] += bytes_more  # so that only the bytes change
        estimate["slices_estimated"] = estimate["slices_used"]


def outcome(run: dict, name: str) -> None:
    one = observations(run)[0]
    one |= {"outcome": name, "message": "planted", "at_peak": [], "by_kind": {}}
    for key, value in list(one.items()):
        if key.endswith("_bytes") or key == "allocations":
            one[key] = None
    one["estimate"] |= {"slices_estimated": None, "bytes_estimated": None}


def estimate_outside(run: dict) -> None:
    for one in observations(run)[:1]:
        one["estimate"]["bytes_estimated"] *= 2


def leak(run: dict) -> None:
    observations(run)[0]["leaked_bytes"] = 64


def above_a_limit(run: dict) -> None:
    of_context(run)["planned"][0]["limits"] = {"peak_bytes": 1, "peak_over_floor": None, "time_ns": None}


def expects(run: dict, name: str) -> None:
    outcome(run, name)
    of_context(run)["planned"][0]["expected_outcome"] = name


def with_times(run: dict) -> None:
    of_context(run)["memory_only"] = False
    for one in observations(run):
        one["gpu_time_ns"] = {"median": 1e6, "min": 1e6, "max": 1e6, "blocks": [[1e6]] * 3}
        one |= {"time_source": "device", "cache": "hot"}


def without_a_time(run: dict) -> None:
    with_times(run)
    observations(run)[0] |= {"gpu_time_ns": None, "message": "no time: planted"}


def without_the_peak(run: dict) -> None:
    for key in ("requested_peak_bytes", "first_call_peak_bytes", "second_pass_peak_bytes"):
        observations(run)[0][key] = None


def without_an_answer(run: dict) -> None:
    no_answer = {"slices_estimated": None, "bytes_estimated": None, "error": "no answer within 60 s", "asked": True}
    observations(run)[0]["estimate"] |= no_answer


def without_first(run: dict) -> None:
    name = of_context(run)["planned"][0]["case"]
    del of_context(run)["planned"][0]
    run["benchmarks"] = [row for row in run["benchmarks"] if row.get("peakmark", {}).get("case") != name and row.get("run_name") != name]
    of_context(run)["fingerprint"] = "another"


def new_version(run: dict) -> None:
    """Gives each case another version, with a higher peak."""
    peak_of(run, GROWN)
    for planned in of_context(run)["planned"]:
        planned["version"] = 2
    for one in observations(run):
        one["version"] = 2
    of_context(run)["fingerprint"] = "another"


def nothing(run: dict) -> None:
    """Changes nothing."""


@dataclass
class What:
    """A row of the table: the runs of the last day and of this day, and the result of each command."""

    now: Callable[[dict], object]
    before: Callable[[dict], object] = nothing
    check: int = 0
    baseline: int = 0
    compare: int = 0
    trends: int = 0
    branch: int = 0
    words: dict[str, str] = field(default_factory=dict)
    """A word that a command prints."""
    sent: int = 0
    """Notifications."""


ROWS = {
    "nothing": What(nothing, words={"trends": "nothing to do"}),
    "more bytes": What(lambda run: peak_of(run, GROWN), baseline=1, compare=1, trends=1, branch=1, sent=1, words={"trends": "regression (new)"}),
    "fewer bytes": What(nothing, before=lambda run: peak_of(run, GROWN), words={"baseline": "shrank", "trends": "improvement (new)"}),
    "was `ok`, now `unsupported`": What(
        lambda run: outcome(run, "unsupported"), baseline=1, compare=1, trends=1, branch=1, sent=1,
        words={"check": "1 skipped (1 unsupported)", "trends": "outcome"},
    ),
    "was `ok`, now `out_of_memory`": What(
        lambda run: outcome(run, "out_of_memory"), baseline=1, compare=1, trends=1, branch=1, sent=1,
        words={"check": "1 skipped (1 out_of_memory)", "trends": "planted"},
    ),
    "was `ok`, now `wrong_answer`, `timeout` or `crashed`": What(
        lambda run: outcome(run, "crashed"), check=3, baseline=3, compare=3, trends=1, branch=1, sent=1, words={"trends": "crashed"}
    ),
    "was `ok`, now without the time that it had": What(
        without_a_time, before=with_times, trends=1, branch=1, sent=1,
        words={"check": "1 warning (1 no time)", "compare": "the new has no time", "trends": "no time: planted"},
    ),
    "was `ok`, now without the peak that it had": What(
        without_the_peak, check=3, baseline=3, compare=1, trends=1, branch=1, sent=1, words={"compare": "unknown"}
    ),
    "another outcome, which the suite expects": What(
        lambda run: expects(run, "out_of_memory"), words={"check": "1 as expected (1 out_of_memory)", "trends": "as expected"}
    ),
    "crashed before, crashes still": What(
        lambda run: outcome(run, "crashed"), before=lambda run: outcome(run, "crashed"), check=3, baseline=3,
        words={"branch": "fails as on the base branch", "trends": "was not measured"},
    ),
    "`ok` again": What(
        nothing, before=lambda run: outcome(run, "crashed"), words={"baseline": "ok now", "trends": "improvement (new)"}
    ),
    "an estimate is outside its window, as before": What(
        estimate_outside, before=estimate_outside, check=1, baseline=1, words={"branch": "fails as on the base branch"}
    ),
    "an estimate is outside its window since this change": What(
        estimate_outside, check=1, baseline=1, trends=1, branch=1, sent=1, words={"trends": "estimate_ratio"}
    ),
    "an estimator gives no numbers": What(
        without_an_answer, check=1, baseline=1, branch=1, words={"trends": "1 estimator", "branch": "1 estimator"}
    ),
    "a leak, a repeat that differs, as before": What(leak, before=leak, check=1, baseline=1, words={"branch": "fails as on the base branch"}),
    "a peak or a time is above a limit of the suite, as before": What(
        above_a_limit, before=above_a_limit, check=1, baseline=1, words={"branch": "fails as on the base branch"}
    ),
    "left its suite": What(without_first, words={"baseline": "vanished", "trends": "left its suite", "branch": "left its suite"}),
    "another `version` in its suite": What(
        new_version, baseline=4, compare=4, trends=4, branch=4,
        words={"baseline": "version 1 → 2: a new series", "compare": "version 1 → 2: a new series", "trends": "version 1 → 2: a new series"},
    ),
    "new in its suite": What(nothing, before=without_first, words={"baseline": "new: not in the baseline", "trends": "is new"}),
}
# Rows that other tests cover: a lost shard (test_team_nightly.py), acceptances (harness/cli/trends_command_test.cpp).
ELSEWHERE = {"was `ok`, now lost", "accepted (`trends accept`)"}


class Project:
    """A history of two days of the base branch, and a new run."""

    def __init__(self, folder: Path, measured: dict) -> None:
        self.folder = folder
        self.measured = measured
        self.history = folder / "history.db"

    def peakmark(self, *words: object) -> tuple[int, str]:
        ended = team_project.subprocess.run(
            [team_project.PEAKMARK, *map(str, words)], cwd=self.folder, env=team_project.environment(), capture_output=True, text=True, check=False
        )
        return ended.returncode, ended.stdout + ended.stderr

    def write(self, name: str, day: int, edit: Callable[[dict], object]) -> Path:
        run = copy.deepcopy(self.measured)
        date = f"2026-03-{day:02}T02:00:00Z"
        run["context"]["date"] = date
        of_context(run).update(date=date, id=f"day-{name}-{day}", commit=f"{day:x}" * 12)
        edit(run)
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(run), encoding="utf-8")
        return path

    def add(self, path: Path, *words: str) -> None:
        code, text = self.peakmark("history", "add", path, "--history", self.history, *words)
        assert code == 0, text


@pytest.fixture(scope="session")
def measured(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("verdicts")
    (folder / "nightly.toml").write_text(SUITE, encoding="utf-8")
    team_project.sh("peakmark run nightly.toml --memory-only -o run.json", folder)
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    assert len(observations(run)) == 3
    return run


def cells_of(columns: int) -> dict[str, list[str]]:
    """Returns the cells of the rows with this number of columns besides the first, by the first column."""
    rows = re.findall(rf"^\| ([^|]+?) ((?:\|[^|]*){{{columns}}})\|$", TABLE, re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")[1:]] for name, cells in rows}


def codes(cell: str) -> set[int]:
    """Returns the exit codes of a cell: `fails (3)`, `new series (0; 4)`, `0`; none if it has none."""
    if cell.isdigit():
        return {int(cell)}
    return {int(code) for inside in re.findall(r"\(([^)]*)\)", cell) for code in re.findall(r"\d", inside)}


CELLS = cells_of(6)
COMMANDS = ("run", "check", "baseline", "compare", "trends", "branch")


def test_each_row_of_the_table_is_walked():
    assert set(CELLS) - {"what happened to a case", "---"} == set(ROWS) | ELSEWHERE


@pytest.mark.parametrize("name", ROWS)
def test_the_table_says_what_is_walked(name):
    what = ROWS[name]
    for command, cell in zip(COMMANDS[1:], CELLS[name][1:]):
        assert not codes(cell) or getattr(what, command) in codes(cell), f"{name}, {command}: {cell}"
    assert bool(what.sent) == ("sent" in CELLS[name][4])


PROGRAMS = """name = "programs"
backend = "opencl"
[[program]]
variant = "planted/well"
command = ["{python}", "-c", "{well}"]
[[program]]
variant = "planted/ends"
command = ["{python}", "-c", "{ends}"]
[[sweep]]
variants = ["planted/well", "planted/ends"]
"""
BUFFER = "import pyopencl as cl; c = cl.create_some_context(interactive=False); b = cl.Buffer(c, 1, 4096)"
ENDINGS = [
    ("nothing", BUFFER, 0),
    ("was `ok`, now `unsupported`", f"{BUFFER}; import sys; sys.exit(77)", 0),
    ("was `ok`, now `out_of_memory`", BUFFER.replace("4096", "1 << 20"), 0),
    ("was `ok`, now `wrong_answer`, `timeout` or `crashed`", f"{BUFFER}; import os; os.abort()", 3),
    ("was `ok`, now `wrong_answer`, `timeout` or `crashed`", f"{BUFFER}; import sys; sys.exit(78)", 3),
    ("was `ok`, now `wrong_answer`, `timeout` or `crashed`", "import signal; signal.pause()", 3),
]


@pytest.mark.parametrize(("name", "code", "expected"), ENDINGS)
def test_run_ends_as_the_table_says(name, code, expected, tmp_path):
    (tmp_path / "programs.toml").write_text(PROGRAMS.format(python=sys.executable, well=BUFFER, ends=code), encoding="utf-8")
    options = ["--memory-only", "--budget", "64KiB", "--timeout", "20", "-o", "run.json"]
    ended, text = Project(tmp_path, {}).peakmark("run", "programs.toml", *options)
    assert ended == expected, text
    assert ended in codes(CELLS[name][0])


@pytest.mark.parametrize("name", ROWS)
def test_what_happened_has_its_exit_code_in_each_command(name, measured, tmp_path):
    what = ROWS[name]
    project = Project(tmp_path, measured)
    before, now = project.write("before", 1, what.before), project.write("now", 2, what.now)
    notified = tmp_path / "notified"
    answers = {
        "check": project.peakmark("check", now),
        "baseline": project.peakmark("check", now, "--baseline", before),
        "compare": project.peakmark("compare", before, now),
    }
    project.add(project.write("first", 1, what.before), "--branch", "main", "--base-branch", "main")
    project.add(now, "--branch", "pull/1", "--base-branch", "main", "--merge-base", "1" * 12)
    answers["branch"] = project.peakmark("trends", "--branch", "pull/1", "--history", project.history)
    project.add(project.write("day", 3, what.now), "--branch", "main")
    answers["trends"] = project.peakmark("trends", "--history", project.history, "--notify", f"cat >>{notified}")
    for command, (code, text) in answers.items():
        assert code == getattr(what, command), f"{command}: {text}"
        assert what.words.get(command, "") in text, f"{command}: {text}"
    events = re.findall(r'"event": *"(\w+)"', notified.read_text(encoding="utf-8")) if notified.exists() else []
    assert events == ["opened"] * what.sent


def test_a_regression_that_was_sent_is_closed_once_when_the_outcome_is_as_before(measured, tmp_path):
    project = Project(tmp_path, measured)
    notified = tmp_path / "notified"
    events = []
    for day, edit in enumerate((nothing, lambda run: outcome(run, "crashed"), lambda run: outcome(run, "crashed"), nothing, nothing), start=1):
        project.add(project.write(f"day{day}", day, edit))
        project.peakmark("trends", "--history", project.history, "--notify", f"cat >>{notified}")
        events.append(len(re.findall(r'"event"', notified.read_text(encoding="utf-8"))) if notified.exists() else 0)
    assert events == [0, 1, 1, 2, 2]
    assert '"reason": "recovered"' in notified.read_text(encoding="utf-8")


def test_an_accepted_outcome_is_not_open(measured, tmp_path):
    project = Project(tmp_path, measured)
    for day, edit in enumerate((nothing, lambda run: outcome(run, "crashed")), start=1):
        project.add(project.write(f"day{day}", day, edit))
    assert project.peakmark("trends", "--history", project.history)[0] == 1
    code, text = project.peakmark("trends", "accept", "padding/*", "--reason", "the driver's fault", "--history", project.history)
    assert code == 0, text
    code, text = project.peakmark("trends", "--history", project.history)
    assert code == 0 and text.startswith("nothing to do; 3 cases: 2 pass, 1 as expected (1 accepted)"), text


def test_what_was_not_compared_ends_with_4(measured, tmp_path):
    project = Project(tmp_path, measured)
    project.add(project.write("first", 1, nothing), "--branch", "main", "--base-branch", "main")
    code, text = project.peakmark("trends", "--history", project.history)
    assert (code, text.splitlines()[0].split(";")[0]) == (4, "nothing was compared: first run of each device")
    assert project.peakmark("trends", "--history", project.history, "--allow-uncompared")[0] == 0

    def on_another_device(run):
        of_context(run)["device"] = "another"

    project.add(project.write("pull", 2, on_another_device), "--branch", "pull/1", "--merge-base", "1" * 12)
    code, text = project.peakmark("trends", "--branch", "pull/1", "--history", project.history)
    assert (code, text.splitlines()[0].split(";")[0]) == (4, "1 run was not compared")
    assert "main has no run of this suite before it" in text
    assert project.peakmark("trends", "--branch", "pull/1", "--history", project.history, "--allow-uncompared")[0] == 0


def test_a_run_without_a_measured_case_ends_with_4(measured, tmp_path):
    project = Project(tmp_path, measured)

    def all_unsupported(run):
        for row in list(run["benchmarks"]):
            if "peakmark" in row:
                run["benchmarks"].remove(row)
                run["benchmarks"].insert(0, row)
                outcome(run, "unsupported")

    code, text = project.peakmark("check", project.write("now", 2, all_unsupported))
    assert code == 4, text
    assert project.peakmark("compare", project.write("before", 1, nothing), tmp_path / "now.json")[0] == 1, "all are lost"


DAYS = 365
LOST_DAY, FUTURE_DAY = 200, 250


def timed(run: dict, random: random_numbers.Random, slower: float = 1) -> None:
    """Gives each case a time of 1 ms with a noise of 1 %, and the second time of a confirmed run."""
    for one in observations(run):
        for key in ("gpu_time_ns", "gpu_time_again_ns"):
            ns = [1e6 * slower * math.exp(random.gauss(0, 0.01)) for _ in range(3)]
            one[key] = {"median": sorted(ns)[1], "min": min(ns), "max": max(ns), "blocks": [[value] for value in ns]}
        one |= {"time_source": "device", "cache": "hot"}


class Year:
    """A history to which days are added, with one commit per day."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.random = random_numbers.Random(34)
        self.day = 0

    def write(self, name: str, edit: Callable[[dict], object] = nothing, slower: float = 1, date: str = "") -> Path:
        def as_of_this_day(run: dict) -> None:
            when = date or (datetime.date(2025, 1, 1) + datetime.timedelta(days=self.day)).isoformat()
            run["context"]["date"] = when + "T02:00:00Z"
            of_context(run).update(date=run["context"]["date"], id=name, commit=f"{self.day:012x}")
            timed(run, self.random, slower)
            edit(run)

        return self.project.write(name, 1, as_of_this_day)

    def add_days(self, until: int) -> None:
        files = []
        while self.day < until:
            self.day += 1
            files.append(self.write(f"day-{self.day}"))
        code, text = self.project.peakmark("history", "add", *files, "--history", self.project.history, "--branch", "main", "--base-branch", "main")
        assert code == 0, text

    def trends(self, *words: str) -> tuple[int, str]:
        return self.project.peakmark("trends", "--history", self.project.history, *words)


def test_a_year_with_planted_days_has_the_right_exit_codes(measured, tmp_path):
    year = Year(Project(tmp_path, measured))
    year.add_days(LOST_DAY - 1)
    assert year.trends()[0] == 0

    year.day += 1
    year.project.add(year.write("lost", lambda run: outcome(run, "out_of_memory")), "--branch", "main")
    code, text = year.trends()
    assert code == 1 and "out_of_memory" in text, text
    year.add_days(FUTURE_DAY - 1)
    code, text = year.trends()
    assert code == 0, text

    # A machine with a wrong clock cannot hide later runs.
    code, text = year.project.peakmark("history", "add", year.write("future", date="2099-01-01"), "--history", year.project.history)
    assert code == 2 and "2099-01-01" in text, text
    year.add_days(DAYS)
    code, text = year.trends()
    assert code == 0, text

    base = f"{DAYS:012x}"
    year.day += 1
    for name, slower, edit, expected in (
        ("same", 1.0, nothing, 0), ("more", 1.0, lambda run: peak_of(run, GROWN), 1), ("slower", 3.0, nothing, 0)
    ):
        year.project.add(year.write(name, edit, slower), "--branch", f"pull/{name}", "--merge-base", base)
        code, text = year.trends("--branch", f"pull/{name}")
        assert code == expected, text
        # One run is not enough to judge times; harness/cli/compare_commits_test.cpp compares two commits.
        assert "times of one run are not judged; this compares them: peakmark compare nightly.toml --commits" in text, text
    year.project.add(year.write("grown", lambda run: peak_of(run, GROWN)), "--branch", "main")
    assert year.trends()[0] == 1


OF_RUNS = {
    "no case was measured": "test_a_run_without_a_measured_case_ends_with_4",
    "less than `--require`": "test_less_than_required_ends_with_4",
    "shards are missing, unfinished or damaged": "test_a_missing_shard_is_red_everywhere_and_its_cases_are_named",
    "the newest run of a suite on a device is older than `--max-age`": "test_a_history_that_is_too_old_ends_with_4",
    "its date is later than tomorrow": "test_a_year_with_planted_days_has_the_right_exit_codes",
    "it is the first of each device": "test_what_was_not_compared_ends_with_4",
    "the base branch has no run of the suite on the device of the branch's run": "test_what_was_not_compared_ends_with_4",
    "the run has no case in common with the baseline or the other run": "test_runs_without_a_common_case_cannot_be_compared",
}


def test_each_row_of_the_table_of_runs_is_walked():
    assert set(cells_of(1)) - {"what happened to the run", "---", "case: variant, backend and axes"} >= set(OF_RUNS)
    rows = re.findall(r"^\| ([^|]+) \|", TABLE.split("| what happened to the run |")[1].split("\n\n")[0], re.MULTILINE)
    assert set(rows) == set(OF_RUNS)
    assert all(test in globals() for test in OF_RUNS.values())


def test_less_than_required_ends_with_4(tmp_path):
    (tmp_path / "nightly.toml").write_text(SUITE, encoding="utf-8")
    code, text = Project(tmp_path, {}).peakmark("run", "nightly.toml", "--require", "cuda", "--memory-only", "-o", "run.json")
    assert code == 4, text


def merged_again(path: Path, name: str) -> dict:
    run = json.loads(path.read_text(encoding="utf-8"))
    of_context(run).update(id=name, commit="2" * 12)
    return run


def test_a_missing_shard_is_red_everywhere_and_its_cases_are_named(measured, tmp_path, monkeypatch):
    monkeypatch.setenv("PEAKMARK_PYTHON", sys.executable)  # of the report
    project = Project(tmp_path, measured)
    project.add(project.write("first", 1, nothing), "--branch", "main", "--base-branch", "main")
    (tmp_path / "nightly.toml").write_text(SUITE, encoding="utf-8")
    parts = [tmp_path / f"{i}.json" for i in (1, 2, 3)]
    for i, part in enumerate(parts, start=1):
        assert project.peakmark("run", "nightly.toml", "--memory-only", "--shard", f"{i}/3", "-o", part)[0] == 0
    lost = of_context(measured)["planned"][1]["case"]
    parts[1].write_bytes(parts[1].read_bytes()[:2000])  # cut in half
    for given in (parts, [parts[0], parts[2]]):
        code, text = project.peakmark("merge", *given, "-o", "run.json")
        assert code == 3 and f"partial: shard 2 of 3 is missing (1 case: {lost})" in text, text
    merged = of_context(json.loads((tmp_path / "run.json").read_text(encoding="utf-8")))
    assert (merged["lost_cases"], merged["complete"]) == ([lost], False)
    code, text = project.peakmark("check", "run.json")
    assert code == 3 and lost in text, text
    pull = merged_again(tmp_path / "run.json", "pull")
    of_context(pull)["fingerprint"] = "another"  # the pull request changes the suite, so no complete run has the list of lost cases
    (tmp_path / "pull.json").write_text(json.dumps(pull), encoding="utf-8")
    project.add(tmp_path / "pull.json", "--branch", "pull/1", "--base-branch", "main", "--merge-base", "1" * 12)
    code, text = project.peakmark("trends", "--branch", "pull/1", "--history", project.history)
    assert code == 1 and f"partial: shard 2 of 3 is missing (1 case: {lost})" in text, text
    project.add(tmp_path / "run.json", "--branch", "main")
    code, text = project.peakmark("trends", "--history", project.history)
    assert code == 1 and f"partial: shard 2 of 3 is missing (1 case: {lost})" in text, text
    page = tmp_path / "page"
    assert project.peakmark("report", "--history", project.history, "-o", page)[0] == 0
    assert f"shard 2 of 3 is missing (1 case: {lost})" in (page / "index.html").read_text(encoding="utf-8")


def test_a_history_that_is_too_old_ends_with_4(measured, tmp_path):
    project = Project(tmp_path, measured)
    for day in (1, 2):
        project.add(project.write(f"day{day}", day, nothing))
    assert project.peakmark("trends", "--history", project.history)[0] == 0
    code, text = project.peakmark("trends", "--history", project.history, "--max-age", "36h")
    assert code == 4, text


def test_runs_without_a_common_case_cannot_be_compared(measured, tmp_path):
    project = Project(tmp_path, measured)

    def renamed(run):
        text = json.dumps(run).replace("padding/coords1d", "padding/another")
        run.clear()
        run.update(json.loads(text))

    one, other = project.write("one", 1, nothing), project.write("other", 2, renamed)
    for words in (("check", other, "--baseline", one), ("compare", one, other)):
        code, text = project.peakmark(*words)
        assert code == 2, text
