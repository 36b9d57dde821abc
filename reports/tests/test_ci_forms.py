import json
import shlex

from peakmark_reports.__main__ import main
from peakmark_reports.ci_forms import benchmark_action
from peakmark_reports.ci_forms import code_quality, metrics_report
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
        change("padding/slower", 29, metric="gpu_time_ns", verdict="suspicious", state=None, relative=0.05),
        change("padding/better", 20, verdict="improvement", state="past", relative=-0.1),
        change(f"padding/{HOSTILE}", 20, cause=[HOSTILE]),
    ]
    return assessed([*cases, crashed], changes, states=[state("padding/crashed", "failed", "crashed")])


def empty():
    return assessed([], run_count=0)


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


def test_benchmark_action_has_names_units_and_values():
    entries = json.loads(benchmark_action(several()))
    assert {"name": "padding/grew time", "unit": "ns", "value": TIME, "extra": "regression; a device"} in entries
    for entry in entries:
        assert isinstance(entry["name"], str) and isinstance(entry["unit"], str)
        assert isinstance(entry["value"], int | float) and isinstance(entry["extra"], str)
    assert len({entry["name"] for entry in entries}) == len(entries)


def test_formats_are_written_without_a_page(tmp_path, capsys, monkeypatch):
    series = series_text([history_run(i) for i in range(3)], [case("padding/a", 3)])
    monkeypatch.chdir(tmp_path)
    forms = ["--gitlab-metrics", "--gitlab-code-quality", "--benchmark-action"]
    options = [word for form in forms for word in (form, f"forms/{form[2:]}")]
    assert main(["report", *write_files(tmp_path, series, trends_text()), *options]) == 0
    written = capsys.readouterr().out.splitlines()
    assert written == [f"forms/{form[2:]}" for form in forms]
    assert not (tmp_path / "report").exists()


def test_two_formats_need_two_files(tmp_path, capsys):
    sources = write_files(tmp_path, series_text([history_run(0)], [case("padding/a", 1)]), trends_text())
    forms = ["--benchmark-action", str(tmp_path / "forms/one"), "--gitlab-metrics", str(tmp_path / "forms/../forms/one")]
    assert main(["report", *sources, *forms]) == 2
    assert "the same file for --gitlab-metrics and --benchmark-action" in capsys.readouterr().err
    assert not (tmp_path / "forms").exists()
