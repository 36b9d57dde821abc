import json
import re
import shlex
import xml.etree.ElementTree as ElementTree

import pytest
from peakmark_reports.__main__ import main
from peakmark_reports.ci_forms import bencher
from peakmark_reports.ci_forms import benchmark_action
from peakmark_reports.ci_forms import code_quality, metrics_report
from peakmark_reports.ci_forms import junit
from peakmark_reports.ci_forms import MAX_BYTES, append_step_summary, step_summary
from sample_history import HOSTILE, PEAK, TIME, assessed, case, change, history_run, series_text, state, trends_text, write_files


def several():
    """Returns one case of each state, and a steady one."""
    crashed = case("padding/crashed", 30)
    crashed["outcomes"][-1] = "crashed"
    for values in crashed["series"].values():
        values[-1] = None
    cases = [case(f"padding/{name}", 30) for name in ("grew", "slower", "better", "steady", HOSTILE)]
    changes = [
        change("padding/grew", 20),
        change("padding/slower", 29, metric="gpu_time_ns", verdict="suspicious", state=None, relative=0.05, allocations=None),
        change("padding/better", 20, verdict="improvement", state="past", relative=-0.1),
        change(f"padding/{HOSTILE}", 20, allocations=[{"name": HOSTILE, "kind": HOSTILE, "bytes": 1, "new_count": 1}]),
    ]
    return assessed([*cases, crashed], changes, states=[state("padding/crashed", "failed", "crashed")])


def empty():
    return assessed([], run_count=0)


def test_the_summary_lists_the_worst_first():
    lines = step_summary(several()).splitlines()
    assert lines[0] == "## 4 cases need attention"
    rows = [line for line in lines if line.startswith("|")][2:]
    assert [row.split("|")[1].split(" ", 2)[2].strip() for row in rows] == [
        "regression", "regression", "failed measurement", "suspicious", "improvement",
    ]
    assert all(row.count("|") - row.count("\\|") == 5 for row in rows)
    assert "flags (buffer) added: 4 KiB" in rows[1] + rows[0]


def test_the_summary_escapes_names():
    text = step_summary(several())
    assert "<script" in text
    # Within code, text is shown unchanged, but a backtick would end it.
    outside = re.sub(r"(?<!\\)`[^`]*`", "", text)
    assert "<script" not in outside and "<img" not in outside and "&lt;script>" in outside


@pytest.fixture(scope="module")
def many():
    """Returns the names of 2,000 cases of different variants, and their assessment; the last case is the worst."""
    names = [f"padding/v{i}/{'x' * 500}/n:{i}" for i in range(2000)]
    changes = [change(name, 1, relative=1e-4 * (i + 1)) for i, name in enumerate(names)]
    cases = [case(name, 2, variant=f"padding/v{i}") for i, name in enumerate(names)]
    return names, assessed(cases, changes, run_count=2)


@pytest.mark.parametrize("most", [2000, 10_000, 100_000, MAX_BYTES])
def test_a_long_summary_is_cut_and_reports_how_much(many, most):
    names, assessment = many
    text = step_summary(assessment, most)
    assert len(text.encode()) <= most
    rows = sum(line.startswith("| 🔴") for line in text.splitlines())
    assert (rows > 0) == (most >= 2000)
    if rows < 2000:
        assert f"Cut to the maximum size of CI summaries: {2000 - rows:,} of 2,000 changes" in text
    if rows:
        assert names[-1] in text  # the worst


def test_the_summary_is_appended(tmp_path):
    path = tmp_path / "summary.md"
    path.write_text("before\n" * 1000)
    append_step_summary(several(), path)
    assert path.read_text(encoding="utf-8").startswith("before\n" * 1000 + "## 4 cases")


def test_metrics_are_openmetrics():
    text = metrics_report(several())
    lines = text.splitlines()
    assert lines[-1] == "# EOF" and text.endswith("\n")
    assert "# TYPE peakmark_requested_peak_bytes gauge" in lines
    assert f'peakmark_requested_peak_bytes{{case="padding/grew",device="a device"}} {PEAK}' in lines
    assert 'peakmark_gpu_time_nanoseconds{case="padding/grew",device="a device"} 565700' in lines
    for unit in [line.split() for line in lines if line.startswith("# UNIT")]:
        assert unit[2].endswith(unit[3])  # required by the format
    samples = [line for line in lines if not line.startswith("#")]
    # An unmeasured case has no line.
    assert not [line for line in samples if "crashed" in line]
    for line in samples:
        # GitLab splits a line like a shell into a name and a value.
        assert len(shlex.split(line)) == 2
        float(line.rsplit(" ", 1)[1])


def test_code_quality_has_the_keys_of_gitlab():
    issues = json.loads(code_quality(several(), "suites/nightly.toml"))
    assert len(issues) == 4
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"] == {"path": "suites/nightly.toml", "lines": {"begin": 1}}
    assert len({issue["fingerprint"] for issue in issues}) == 4
    assert issues == json.loads(code_quality(several(), "suites/nightly.toml"))
    assert json.loads(code_quality(empty(), "x")) == []


def test_bencher_follows_its_schema():
    """https://bencher.dev/bmf.json: objects of objects with a number `value`."""
    found = json.loads(bencher(several()))
    assert found["padding/grew"] == {
        "peak-bytes": {"value": PEAK}, "setup-bytes": {"value": 0}, "latency": {"value": TIME},
        "peak-over-estimate": {"value": 0.99},
    }
    for measures in found.values():
        for name, measure in measures.items():
            assert len(name) <= 64 and set(measure) == {"value"} and isinstance(measure["value"], int | float)
    assert "padding/crashed" not in found
    assert json.loads(bencher(empty())) == {}


def test_benchmark_action_has_names_units_and_values():
    entries = json.loads(benchmark_action(several()))
    assert {"name": "padding/grew time", "unit": "ns", "value": TIME, "extra": "regression; a device"} in entries
    for entry in entries:
        assert isinstance(entry["name"], str) and isinstance(entry["unit"], str)
        assert isinstance(entry["value"], int | float) and isinstance(entry["extra"], str)
    assert len({entry["name"] for entry in entries}) == len(entries)


def test_junit_fails_cases_that_need_attention():
    root = ElementTree.fromstring(junit(several()))
    tests = {test.get("name"): test for test in root.iter("testcase")}
    assert len(tests) == 6
    assert tests["padding/grew"].find("failure").get("type") == "regression"
    assert "flags (buffer) added" in tests["padding/grew"].find("failure").text
    assert tests["padding/crashed"].find("error").get("message") == "crashed"
    assert tests["padding/slower"].find("failure") is None and tests["padding/slower"].find("system-out") is not None
    assert list(tests["padding/steady"]) == []
    for element in (root, root.find("testsuite")):
        assert (element.get("tests"), element.get("failures"), element.get("errors")) == ("6", "2", "1")


def test_junit_skips_unmeasured_cases_and_passes_cases_with_too_few_runs():
    cases = [case(f"padding/{name}", 3) for name in ("skipped", "expected", "young", "unknown")]
    for one in (cases[0], cases[1], cases[3]):
        one["series"] = {}
    young = [{"case": f"padding/{name}", "device": "a device"} for name in ("young", "unknown")]
    reported = [
        state("padding/skipped", "skipped", "unsupported: no f64 here"),
        state("padding/expected", "as_expected", "out_of_memory: 8 GiB refused"),
    ]
    root = ElementTree.fromstring(junit(assessed(cases, run_count=3, states=reported, not_enough_data=young)))
    tests = {test.get("name"): test for test in root.iter("testcase")}
    assert tests["padding/skipped"].find("skipped").get("message") == "unsupported: no f64 here"
    assert [child.tag for child in tests["padding/expected"]] == ["system-out"]
    assert "out_of_memory: 8 GiB refused" in tests["padding/expected"].find("system-out").text
    assert [child.tag for child in tests["padding/young"]] == ["system-out"]
    assert tests["padding/young"].find("system-out").text.splitlines()[0] == "not enough data"
    assert tests["padding/unknown"].find("skipped") is not None
    assert (root.get("skipped"), root.get("failures"), root.get("errors")) == ("2", "0", "0")


def test_junit_has_no_control_characters():
    name = "padding/\x00\x1b[31m\ufffe\ud83d"
    root = ElementTree.fromstring(junit(assessed([case(name, 30)], [change(name, 20)])))
    assert root.find("testsuite/testcase/failure") is not None


def test_formats_are_written_without_a_page(tmp_path, capsys, monkeypatch):
    series = series_text([history_run(i) for i in range(3)], [case("padding/a", 3)])
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.chdir(tmp_path)
    forms = ["--gitlab-metrics", "--gitlab-code-quality", "--bencher", "--benchmark-action", "--junit"]
    options = [word for form in forms for word in (form, f"forms/{form[2:]}")]
    assert main(["report", *write_files(tmp_path, series, trends_text()), *options, "--step-summary"]) == 0
    written = capsys.readouterr().out.splitlines()
    assert written == [f"forms/{form[2:]}" for form in forms] + [str(tmp_path / "summary.md")]
    assert not (tmp_path / "report").exists()
    monkeypatch.delenv("GITHUB_STEP_SUMMARY")
    assert main(["report", *write_files(tmp_path, series, trends_text()), "--step-summary"]) == 2
    assert "$GITHUB_STEP_SUMMARY is not set" in capsys.readouterr().err


def test_two_formats_need_two_files(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "forms" / "one"))
    sources = write_files(tmp_path, series_text([history_run(0)], [case("padding/a", 1)]), trends_text())
    for forms, names in (
        (["--junit", "one", "--bencher", "./one"], "--bencher and --junit"),
        (["--junit", str(tmp_path / "forms" / "one"), "--step-summary"], "--junit and --step-summary"),
    ):
        assert main(["report", *sources, *forms]) == 2
        assert f"the same file for {names}" in capsys.readouterr().err
    assert not (tmp_path / "forms").exists()
