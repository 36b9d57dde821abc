import json

import pytest
from peakmark_reports.common import InputError
from peakmark_reports.assessment import assess
from peakmark_reports.ci_forms import code_quality
from peakmark_reports.groups import group_findings
from peakmark_reports.history_file import parse_history
from peakmark_reports.page_data import COLUMNS, device_data, entries
from peakmark_reports.run_file import RunFileError
from peakmark_reports.report import parse_runs
from peakmark_reports.trend_file import no_trends, parse_trends
from sample_history import PEAK, assessed, case, change, finding, history_run, run_text, series_text, state, trends_text
from sample_run import observation


def states(assessment):
    return {status.history.case: status.state for status in assessment.statuses}


def test_without_changes_there_is_nothing_to_do():
    assessment = assessed([case("padding/new/opencl/n:20", 30)])
    assert assessment.headline == "Nothing to do"
    assert assessment.tally == "0 cases: as the test says"
    assert group_findings(assessment) == {"new": [], "open": [], "recent": [], "closed": []}


def test_the_verdict_counts_cases_and_not_changes():
    grown = change("padding/a", 20)
    slower = change("padding/a", 25, metric="gpu_time_ns")
    assessment = assessed([case("padding/a", 30), case("padding/b", 30)], [grown, slower])
    assert assessment.headline == "1 case needs attention"
    assert assessment.tally == "1 case: as the test says"
    assessment = assessed([case("padding/a", 30), case("padding/b", 30)], [grown, change("padding/b", 20)])
    assert assessment.headline == "2 cases need attention"


@pytest.mark.parametrize(
    ("more", "needs_attention"),
    [
        ({"state": "open"}, True),
        ({"state": "accepted"}, False),
        ({"state": "recovered"}, False),
        ({"state": "past"}, False),
        ({"verdict": "suspicious", "state": None}, True),
        ({"verdict": "suspicious", "state": "past", "metric": "estimate_ratio"}, False),
        ({"verdict": "improvement", "state": "past"}, False),
    ],
)
def test_open_changes_need_attention(more, needs_attention):
    assert assessed([case("padding/a", 30)], [change("padding/a", 20, **more)]).needs_attention == needs_attention


def test_throughput_is_that_of_the_newest_run():
    one = observation("padding/new", "edge", 32) | {"throughput": {"bytes_per_second": 3e9}}
    assessment = assessed([case(one["case"], 30, backend="opencl"), case("padding/b", 30)], observations=[one])
    assert {status.history.case: status.throughput for status in assessment.statuses} == {
        one["case"]: 3e9, "padding/b": None,
    }


def test_a_failed_measurement_needs_attention():
    crashed = case("padding/a", 30)
    crashed["outcomes"][-1] = "crashed"
    for values in crashed["series"].values():
        values[-1] = None
    assessment = assessed([crashed, case("padding/b", 30)], states=[state("padding/a", "failed", "crashed: SIGSEGV")])
    assert states(assessment) == {"padding/a": "failed", "padding/b": "steady"}
    assert assessment.statuses[0].reasons == ["crashed: SIGSEGV"]
    # An unmeasured case has no value, not an older one.
    (status,) = [one for one in assessed([crashed]).statuses]
    assert status.history.last_value("requested_peak_bytes") is None


def test_a_case_that_was_not_measured_is_skipped_and_an_expected_outcome_is_as_expected():
    never, full = case("padding/a", 30), case("padding/b", 30)
    never["outcomes"] = ["unsupported"] * 30
    full["outcomes"] = ["out_of_memory"] * 30
    never["series"] = full["series"] = {}
    reported = [
        state("padding/a", "skipped", "unsupported: no f64 here"),
        state("padding/b", "as_expected", "out_of_memory: 8 GiB refused"),
    ]
    assessment = assessed([never, full], states=reported)
    assert states(assessment) == {"padding/a": "skipped", "padding/b": "as_expected"}
    assert assessment.headline == "Nothing to do"
    assert assessment.needs_attention == 0


def test_without_trends_nothing_is_judged():
    history = parse_history(series_text([history_run(0)], [case("padding/a", 1)]).splitlines(), "h")
    assert assess(history, no_trends(), []).headline == "Not judged: no trends of this history"


def test_a_case_that_left_its_suite_needs_no_attention_and_is_shown_once():
    removed, earlier = case("padding/a", 30), case("padding/b", 30)
    for one in (removed, earlier):
        one["outcomes"][29:] = [None]
        for values in one["series"].values():
            values[29:] = [None]
    gone = {"case": "padding/a", "device": "a device", "backend": "opencl", "run": "x", "date": "x", "new": True}
    reported = [
        state("padding/a", "left_suite", "new since the previous run", "last run on 2026-02-01"),
        state("padding/b", "left_suite", "last run on 2026-01-01"),
    ]
    assessment = assessed([removed, earlier], left_suite=[gone], states=reported)
    assert states(assessment) == {"padding/a": "left_suite", "padding/b": "left_suite"}
    assert assessment.needs_attention == 0
    groups = group_findings(assessment)
    assert groups["new"] + groups["open"] == []
    assert [group.name for group in groups["recent"]] == ["padding/a"]


def test_a_worse_outcome_is_a_finding_with_its_message():
    lost = case("padding/a/opencl/n:2", 30)
    lost["outcomes"][29] = "out_of_memory"
    worse = change(lost["case"], 29, new=True, metric="outcome", before="ok", after="out_of_memory", relative=None, levels="ok → out_of_memory (worse)", summary="ok → out_of_memory (worse), since 2026-02-02", cause=["error -4"])
    grown = change(lost["case"], 29, metric="setup_bytes", levels="0 B → 8 B (+8 B)")
    found = finding([1], [grown, worse], with_it=[0])
    reported = [state(lost["case"], "regression", "out_of_memory: error -4")]
    assessment = assessed([lost], [grown, worse], states=reported, findings=[found])
    (group,) = group_findings(assessment)["new"]
    assert group.hints(assessment) == ["Also setup 0 B → 8 B (+8 B).", "Now out_of_memory: error -4."]
    assert group.short_text == "padding/a: outcome ok → out_of_memory (worse)"
    assert group.summary(False) == "new: outcome ok → out_of_memory (worse), since 2026-02-02"
    assert group.first.finding.change.cause == ["error -4"]
    assert "out_of_memory" in code_quality(assessment, "suites/nightly.toml")


def test_a_case_that_fails_as_on_the_base_branch_is_listed_below():
    assessment = assessed([case("padding/a", 30)], states=[state("padding/a", "as_on_base", "64 bytes left")])
    assert assessment.needs_attention == 0
    (group,) = group_findings(assessment)["closed"]
    assert (group.state, group.summary(False)) == ("as_on_base", "64 bytes left")


def test_an_estimate_outside_its_window_needs_attention():
    inside, below = observation("padding/new", "edge", 32), observation("padding/old", "edge", 32)
    below["estimate"] = {"estimator": "padding/old", "bytes_estimated": 2 * below["requested_peak_bytes"]}
    text = "peak / estimate 0.500, window 0.8 to 1"
    assessment = assessed(
        [case(inside["case"], 30), case(below["case"], 30)], observations=[inside, below],
        states=[state(below["case"], "window", text)],
    )
    assert states(assessment) == {inside["case"]: "steady", below["case"]: "window"}
    worst = assessment.statuses[0]
    assert (worst.reasons, worst.window) == ([text], (0.8, 1.0))


def test_the_newest_run_of_a_renamed_device_belongs_to_the_device():
    below = observation("padding/old", "edge", 32)
    below["estimate"] = {"estimator": "padding/old", "bytes_estimated": 2 * below["requested_peak_bytes"]}
    run = json.loads(run_text([below]))
    run["context"]["peakmark"] |= {"id": history_run(29)["id"], "device": "a device, as a new driver calls it"}
    history = parse_history(series_text([history_run(i) for i in range(30)], [case(below["case"], 30)]).splitlines(), "h")
    assessment = assess(history, parse_trends(trends_text(), "t"), parse_runs(json.dumps(run), "r"))
    assert [status.window for status in assessment.statuses] == [(0.8, 1.0)]


def test_a_group_has_the_cases_of_its_finding_in_their_order():
    names = [f"padding/a/opencl/ny:{ny}" for ny in (32, 64, 128)]
    changes = [change(name, 20, relative=0.01 * i, environment=["driver"]) for i, name in enumerate(names, start=1)]
    changes.append(change(names[0], 28, metric="setup_bytes"))
    where = history_run(19)
    driver = {"run": where["id"], "date": where["date"], "device": "a device", "what": "driver", "before": "1", "after": "2"}
    assessment = assessed(
        [case(name, 30) for name in names], changes, environment_changes=[driver, driver | {"what": "load"}],
        findings=[finding([2, 1, 0], changes, summary="+1 B to +3 B, since 2026-01-21"), finding([3], changes)],
    )
    first, second = group_findings(assessment)["open"]
    assert [member.status.history.case for member in first.members] == names[::-1]
    assert first.summary(False) == "peak +1 B to +3 B, since 2026-01-21"
    assert first.hints(assessment) == ["driver changed on 2026-01-20: 1 → 2"]
    assert second.hints(assessment) == []


def test_what_is_new_since_the_previous_run_is_marked():
    changes = [change("padding/a", 29, new=True), change("padding/b", 28, new=False)]
    states = [*(state(one["case"], "regression") for one in changes), state("fbp/now", "left_suite", "new since the previous run")]
    cases = [case(name, 30) for name in ("padding/a", "padding/b", "fbp/now")]
    assessment = assessed(cases, changes, states=states)
    summaries = {group.first.status.history.case: group.summary(False) for section in ("new", "open") for group in group_findings(assessment)[section]}
    assert summaries["padding/a"].startswith("new: peak ") and summaries["padding/b"].startswith("peak ")
    (left,) = (one for one in assessment.statuses if one.state == "left_suite")
    assert left.reasons == ["new since the previous run"]
    rows = {row[COLUMNS.index("name")]: row[COLUMNS.index("changes")] for row in device_data(*entries([assessment]))["rows"]}
    assert [rows[name][0]["new"] for name in ("padding/a", "padding/b")] == [True, False]


def test_the_worst_change_is_a_current_one():
    resolution = change("padding/a", 5, relative=0.5, state="accepted")
    ratio = change("padding/a", 20, metric="estimate_ratio", relative=0.0601)
    assessment = assessed([case("padding/a", 30)], [resolution, change("padding/a", 20, relative=0.06), ratio])
    worst = assessment.statuses[0].worst.change
    assert (worst.metric, worst.relative) == ("requested_peak_bytes", 0.06)


def test_changes_of_another_device_do_not_count():
    devices = ("one", "two")
    runs = [history_run(i, device) for i in range(20) for device in devices]
    cases = [case("padding/a", 40, device) for device in devices]
    for one in cases:
        one["outcomes"] = ["ok" if run["device"] == one["device"] else None for run in runs]
        one["series"] = {
            "requested_peak_bytes": [PEAK if run["device"] == one["device"] else None for run in runs]
        }
    assessment = assessed(cases, [change("padding/a", 5, device="two", run="run5@two")], runs=runs)
    assert {one.device.device: one.state for one in assessment.statuses} == {"one": "steady", "two": "regression"}
    assert all(len(one.history.series["requested_peak_bytes"]) == 20 for one in assessment.statuses)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"runs": [', "line 1: invalid or truncated JSON"),
        ('{"case": "a/b", "variant": "a/b", "device": "x", "backend": "y"}', "which has no run"),
        (series_text([history_run(0)], [case("a/b", 2)]), "line 2: requested_peak_bytes has 2 values for 1 run"),
        ('{"runs": [{"date": "x"}]}', "line 1: not the output of `peakmark history export"),
    ],
)
def test_the_error_of_a_broken_export_has_the_line(text, words):
    with pytest.raises(InputError, match="export: ") as error:
        parse_history(text.splitlines(), "export")
    assert words in str(error.value)


def test_broken_trends_and_runs_are_errors():
    for text in ("{", "[]", '{"version": 2, "changes": []}', '{"version": 1}', '{"version": 1, "cases": [], "changes": [{}]}'):
        with pytest.raises(InputError, match="^t: "):
            parse_trends(text, "t")
    with pytest.raises(RunFileError, match="^r: "):
        parse_runs("{", "r")


def test_one_or_several_runs_are_parsed():
    one = run_text([observation("padding/new", "edge", 32)])
    assert [len(parse_runs(text, "r")) for text in ("", one, f"[{one}, {one}]", f"{one}\n{one}\n")] == [0, 1, 2, 2]


def test_a_finding_names_its_variants():
    changes = [change(f"padding/{name}/n:20", 20) for name in ("a", "b")]
    assessment = assessed([case(one["case"], 30) for one in changes], changes, findings=[finding([0, 1], changes)])
    (both,) = group_findings(assessment)["open"]
    assert (both.name, len(both.members)) == ("padding/a and 1 other variant", 2)


def test_a_finding_of_a_change_that_is_not_there_is_an_error():
    changes = [change("padding/a", 20)]
    with pytest.raises(InputError, match="^t: not the output"):
        parse_trends(trends_text(changes, findings=[finding([0], changes, members=[1])]), "t")


@pytest.mark.parametrize("url", ["", "javascript:{commit}"])
def test_only_web_addresses_are_linked(url):
    trends = parse_trends(trends_text(commit_url=url), "trends")
    assert trends.commit_link("a" * 40) == ""
    assert parse_trends(trends_text(commit_url="https://x/{commit}"), "trends").commit_link("abc+") == "https://x/abc"
    assert parse_trends(trends_text(commit_url="https://x/{commit}"), "trends").commit_link("not a hash") == ""
