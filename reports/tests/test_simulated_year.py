import json
import statistics

import pytest
from peakmark_reports.run_file import parse_run
from sample_run import run_document
from simulated_year import DRIVER_CHANGE, MISSING_RUNS, PLANTED, Year


def _observation(variant: str, ny: int) -> dict:
    """Returns an observation as in a run on `dry`."""
    peak = 4 * 20 * ny * ny
    return {
        "case": f"{variant}/dry/ny:{ny}", "variant": variant, "backend": "dry", "axes": {"ny": ny}, "outcome": "ok",
        "message": "", "requested_peak_bytes": peak, "first_call_peak_bytes": peak, "second_pass_peak_bytes": peak,
        "setup_bytes": 0, "input_bytes": peak // 2, "output_bytes": peak // 2, "leaked_bytes": 0, "allocations": 2,
        "at_peak": [{"name": "input", "kind": "buffer", "bytes": peak}], "by_kind": {"buffer": peak},
        "moved_allocations": [], "bytes_moved": peak, "output_dtype": "f32", "gpu_time_ns": None, "time_source": None,
        "estimate": {"estimator": variant, "slices_estimated": 20, "bytes_estimated": peak},
    }


@pytest.fixture(scope="module")
def runs():
    planted = [_observation(variant, 512) for variant in sorted({planted.variant for planted in PLANTED})]
    # One of these cases is removed, and one is new.
    others = [_observation(variant, ny) for variant in ("padding/computed", "mul_add/subregion") for ny in (64, 512)]
    document = run_document([*planted, *others])
    for planned in document["context"]["peakmark"]["planned"]:
        planned["backend"] = "dry"
    year = Year(json.loads(json.dumps(document)), 365, seed=3)
    return [year.run(i) for i in range(365)]


def _cases(run):
    return {row["peakmark"]["case"]: row["peakmark"] for row in run["benchmarks"]}


def test_run_files_are_marked_as_simulated(runs):
    assert [i for i, run in enumerate(runs) if run is None] == list(MISSING_RUNS)
    present = [run for run in runs if run is not None]
    contexts = [run["context"]["peakmark"] for run in present]
    assert len({context["id"] for context in contexts}) == len(present)
    assert [context["date"] for context in contexts] == sorted(context["date"] for context in contexts)
    assert all("simulated" in context["environment"] and "simulated" in context["device"] for context in contexts)
    assert len(parse_run(present[-1], "run").cases) == len(present[-1]["benchmarks"])


def test_planted_changes_are_in_the_runs(runs):
    for planted in PLANTED:
        name = f"{planted.variant}/cuda/ny:512"
        before, after = ([_cases(runs[i])[name] for i in span if runs[i] is not None] for span in (
            range(planted.first - 20, planted.first),
            # Until the next change of the same variant.
            range(planted.first + planted.drift_runs, min(planted.first + planted.drift_runs + 6, planted.last or 365, 365)),
        ))
        if planted.outcome is not None:
            assert {one["outcome"] for one in after} == {planted.outcome}
            assert _cases(runs[planted.last])[name]["outcome"] == "ok"
        elif planted.allocation is not None:
            grown = after[0]["requested_peak_bytes"] - before[-1]["requested_peak_bytes"]
            assert after[0]["at_peak"][-1] == {"name": planted.allocation[0], "kind": "device", "bytes": grown}
            assert sum(one["bytes"] for one in after[0]["at_peak"]) == after[0]["requested_peak_bytes"]
        else:
            level = [statistics.median(one["gpu_time_ns"]["median"] for one in part) for part in (before, after)]
            assert level[1] / level[0] == pytest.approx(planted.time, abs=0.02)


def test_the_estimate_leaves_its_window_at_the_end(runs):
    def ratio(run):
        one = _cases(run)["fbp/whole/cuda/ny:512"]
        return one["requested_peak_bytes"] / one["estimate"]["bytes_estimated"]

    assert all(0.8 <= ratio(run) <= 1 for run in runs[:359] if run is not None)
    assert ratio(runs[359]) > 1


def test_one_case_is_removed_and_one_is_new(runs):
    first, last = set(_cases(runs[0])), set(_cases(runs[-1]))
    assert len(first - last) == len(last - first) == 1
    assert len(set(_cases(runs[-2])) - last) == 0
    assert runs[DRIVER_CHANGE]["context"]["peakmark"]["driver"] != runs[0]["context"]["peakmark"]["driver"]


def test_the_same_seed_gives_the_same_year():
    document = run_document([_observation("padding/coords1d", 64)])
    one, two, other = (Year(document, 2, seed).run(0)["benchmarks"] for seed in (1, 1, 2))
    assert one == two != other
