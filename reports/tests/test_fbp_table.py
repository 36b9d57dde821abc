from fbp_table import (
    Line,
    bench_lines,
    estimate_lines,
    filter_line,
    largest_line,
    nabu_lines,
    observations_of,
    peak_lines,
    published_formula_line,
    run_time_lines,
    stack_lines,
    table,
)

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


def test_other_operations_and_what_was_not_measured_is_left_out():
    rows = [observation("whole", 1), observation("whole", 1) | {"outcome": "unsupported"}]
    rows.append(observation("whole", 1) | {"variant": "padding/whole"})
    assert len(observations_of({"benchmarks": [{"peakmark": one} for one in rows] + [{"name": "a time"}]})) == 1


def test_modes_with_the_same_peaks_are_one_line_and_the_bound_is_held_unrounded():
    modes = ("constant", "edge")
    observations = [observation(way, 2 * FLOOR, mode=mode) for mode in modes for way in ("whole", "kept")]
    observations += [observation("inplace", FLOOR * 105 // 100, mode=mode) for mode in modes]
    (line,) = peak_lines(observations)
    assert line.figure == "peak over floor, (43200, 16384), constant, edge"
    assert line.values == {"whole": "2.0000", "kept": "2.0000", "inplace": "1.0500"} and line.holds
    observations[-1]["requested_peak_bytes"] += FLOOR // 10**5
    first, second = peak_lines(observations)
    assert first.holds and second.figure.endswith(", edge") and second.values["inplace"] == "1.0500" and not second.holds


def test_stacks_and_other_filters_have_lines_of_their_own():
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
    peaks = {"wrap": 5, "edge": 4_110_000_001}
    line = largest_line([observation("inplace", peak, mode=mode) for mode, peak in peaks.items()])
    assert line.values == {"inplace": "4110000001"} and not line.holds


def test_estimates_are_held_by_bytes_and_by_slices():
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


def test_the_published_formula_is_seen_to_leave_the_window():
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


def test_times_beside_nabu():
    task = {"n_a": 8, "w": 8, "padding": "zeros", "floor_bytes": 10, "requested_peak_bytes": 50}
    ratios = {"nabu": 1, "whole": 0.3, "inplace": 0.3}
    times = {"times_ns": [1e9, 2e9, 9e9]}
    (line,) = nabu_lines([{**task, **times, "program": name, "over_nabu": ratio} for name, ratio in ratios.items()])
    assert line.figure == "time over nabu's, (8, 8), zeros (nabu: 2 s, peak 5.00 floors)"
    assert line.values == {"whole": "0.300", "inplace": "0.300"} and not line.holds


def test_what_nothing_tells_is_no_number():
    text = table([Line("a", {"inplace": "1"}, "inplace ≤ 2", True), Line("b", {}, "inplace ≤ 2")])
    assert "| a |  | 1 |  | inplace ≤ 2 | yes |" in text
    assert "| b | not measured here | not measured here | not measured here | inplace ≤ 2 |  |" in text
