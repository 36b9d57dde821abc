import json

import pytest
from fbp_lines import (
    Limits,
    Line,
    bench_lines,
    estimate_lines,
    filter_line,
    largest_line,
    nabu_lines,
    peak_lines,
    published_formula_line,
    run_time_lines,
    stack_lines,
    table,
)
from fbp_table import REFERENCE_BYTES, RunError, fbp_observations, merged_observations, read_run, runs_title

FLOOR = 4 * 43200 * 16384 + 4 * 16384**2


def observation(way, peak, *, shape=(43200, 16384), mode="constant", n_z=1, filter="ramlak", time=None, **axes):
    n_a, w = shape
    return {
        "variant": f"fbp/{way}",
        "way": way,
        "outcome": "ok",
        "axes": {"n_a": n_a, "w": w, "n_z": n_z, "chunk": 0, "filter": filter, "mode": mode, **axes},
        "requested_peak_bytes": peak,
        "input_bytes": 4 * n_a * w * n_z,
        "output_bytes": 4 * w * w * n_z,
        "estimate": {"bytes_estimated": peak, "slices_used": n_z, "slices_estimated": n_z},
        "other_estimates": [{"estimator": "fbp/nabu", "bytes_estimated": 2 * peak}],
        "gpu_time_ns": time and {"median": time},
    }


def test_other_operations_and_unmeasured_cases_are_omitted():
    rows = [observation("whole", 1), observation("whole", 1) | {"outcome": "unsupported"}]
    rows.append(observation("whole", 1) | {"variant": "padding/whole"})
    assert len(fbp_observations({"benchmarks": [{"peakmark": one} for one in rows] + [{"name": "a time"}]})) == 1


def test_modes_with_equal_peaks_are_one_line_and_the_bound_applies_to_unrounded_values():
    modes = ("constant", "edge")
    observations = [observation(way, 2 * FLOOR, mode=mode) for mode in modes for way in ("whole", "kept")]
    observations += [observation("inplace", FLOOR * 101 // 100, mode=mode) for mode in modes]
    (line,) = peak_lines(observations)
    assert line.figure == "peak over floor, (43200, 16384), constant, edge"
    assert line.values == {"whole": "2.0000", "kept": "2.0000", "inplace": "1.0100"} and line.holds
    observations[-1]["requested_peak_bytes"] += FLOOR // 10**5
    first, second = peak_lines(observations)
    assert first.holds and second.figure.endswith(", edge") and second.values["inplace"] == "1.0100" and not second.holds


def test_stacks_and_other_filters_have_separate_lines():
    observations = [
        observation("inplace", 2 * FLOOR, filter="hann"),
        observation("inplace", 3 * FLOOR, n_z=3),
        observation("inplace", 4 * FLOOR, n_z=3, chunk=8),
    ]
    assert peak_lines(observations) == []
    assert filter_line(observations).values == {"inplace": "2.0000"} and not filter_line(observations).holds
    assert [line.figure for line in stack_lines(observations)] == [
        "peak over floor, 3 slices of (43200, 16384), all at once",
        "peak over floor, 3 slices of (43200, 16384), chunk 8",
    ]


def test_the_largest_shape_in_bytes():
    peaks = {"wrap": 5, "edge": 3_943_000_001}
    line = largest_line([observation("inplace", peak, mode=mode) for mode, peak in peaks.items()])
    assert line.values == {"inplace": "3943000001"} and not line.holds


def test_estimates_are_judged_by_bytes_and_by_slices():
    good, off = observation("whole", 1000), observation("whole", 1000)
    off["estimate"]["bytes_estimated"] = 1001
    bytes_line, window = estimate_lines([good, off], "dry")
    assert bytes_line.values == {"whole": "1"} and bytes_line.holds
    assert window.values == {"whole": "2 of 2"} and window.holds
    off["estimate"]["bytes_estimated"] = 999
    assert estimate_lines([good, off], "dry")[1].values == {"whole": "1 of 2"}
    few = observation("whole", 1000, n_z=20)
    few["estimate"]["slices_estimated"] = 15
    assert not estimate_lines([few], "dry")[1].holds


def test_the_published_formula_leaves_the_window():
    assert published_formula_line([observation("whole", 10)]).values == {"whole": "0.50 to 0.50"}
    assert published_formula_line([observation("whole", 10)]).holds


def test_times_of_a_run_and_of_benchmarks():
    assert run_time_lines([observation("whole", 1)]) == []
    ratio, rate = run_time_lines([observation("whole", 1, time=4e9), observation("inplace", 1, time=2e9)])
    assert ratio.values == {"whole": "1.000", "inplace": "0.500"} and ratio.holds
    assert rate.values["inplace"] == f"{43200 * 4 * 16384**2 / 2e9:.0f}" and rate.holds is None
    joined = run_time_lines([observation("inplace", 1, time=2e9, half=1)])
    assert [line.values["inplace"] for line in joined] == [f"{21600 * 4 * 16384**2 / 2e9:.0f}"]
    (line,) = bench_lines([{"name": "n_a:8/w:8/iterations:15/manual_time", "ratio": 1.06, "kept_ratio": 1.07}])
    assert line.figure == "time over `whole`, n_a:8 w:8" and line.values["kept"] == "1.070" and not line.holds


def test_times_as_shares_of_the_limits():
    one = observation("inplace", 1, time=2e9) | {"copied_gb_s": 3000.0}
    reads = 43200 * 4 * 16384**2
    _, by_reads = run_time_lines([one])
    assert by_reads.figure.startswith("share of the limit by reads, at 3000 GB/s (of the run's reference copy)")
    assert by_reads.values == {"inplace": f"{reads / 3000 / 2e9:.2f}"} and by_reads.holds is None
    _, by_reads, by_flops = run_time_lines([one], Limits(4800, 60000))
    assert "at 4800 GB/s (given)" in by_reads.figure
    assert by_reads.values == {"inplace": f"{reads / 4800 / 2e9:.2f}"}
    assert by_flops.values == {"inplace": f"{5 * reads / 4 / 60000 / 2e9:.2f}"}


def run_of(observations, suite="fbp-large", device="a GPU", first_ns=None):
    context = {"backend": "cuda", "device": device, "suite": suite, "reference": {"first_ns": first_ns}}
    return {"context": {"peakmark": context}, "benchmarks": [{"peakmark": one} for one in observations]}


def test_runs_of_peaks_and_of_times_are_merged():
    large, small = observation("inplace", 7), observation("inplace", 5, shape=(720, 512))
    timed = run_of([small | {"gpu_time_ns": {"median": 8.0}}], "smoke", first_ns=REFERENCE_BYTES / 2000)
    runs = {"peaks.json": run_of([large, small]), "times.json": timed}
    first, second = merged_observations(runs)
    assert first["requested_peak_bytes"] == 7 and first["gpu_time_ns"] is None
    assert second["gpu_time_ns"] == {"median": 8.0} and second["copied_gb_s"] == 2000
    assert runs_title(list(runs.values())) == "`fbp-large` and `smoke` on a GPU"
    assert runs_title([timed]) == "`smoke` on a GPU"
    with pytest.raises(RunError, match="a GPU .cuda. and another"):
        merged_observations(runs | {"other.json": run_of([], device="another")})
    small["requested_peak_bytes"] = 6
    with pytest.raises(RunError, match="took 6 bytes in peaks.json and 5 in times.json"):
        merged_observations(runs)


def test_a_file_that_is_not_a_run_is_reported_by_name(tmp_path):
    with pytest.raises(RunError, match="nosuch.json: No such file"):
        read_run(tmp_path / "nosuch.json")
    for text in ("{", "[]", json.dumps({"context": {}, "benchmarks": []})):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(RunError, match="not a run file of peakmark: .*other.json"):
            read_run(tmp_path / "other.json")


def test_times_over_those_of_nabu():
    task = {"n_a": 8, "w": 8, "padding": "zeros", "floor_bytes": 10, "requested_peak_bytes": 50}
    ratios = {"nabu": 1, "whole": 0.3, "inplace": 0.3}
    times = {"times_ns": [1e9, 2e9, 9e9]}
    (line,) = nabu_lines([{**task, **times, "program": name, "over_nabu": ratio} for name, ratio in ratios.items()])
    assert line.figure == "time over nabu's, (8, 8), zeros (nabu: 2 s, peak 5.00 floors)"
    assert line.values == {"whole": "0.300", "inplace": "0.300"} and not line.holds


def test_an_unmeasured_figure_is_not_a_number():
    text = table([Line("a", {"inplace": "1"}, "inplace ≤ 2", True), Line("b", {}, "inplace ≤ 2")])
    assert "| a |  | 1 |  | inplace ≤ 2 | yes |" in text
    assert "| b | not measured here | not measured here | not measured here | inplace ≤ 2 |  |" in text
