import json
import statistics

import pytest
from peakmark_reports.run_file import parse_run
from sample_run import run_document
from simulated_year import DRIVER_NIGHT, OFF_NIGHTS, PLANTED, Year


def _observation(variant: str, ny: int) -> dict:
    """As a run on `dry` has it."""
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
def nights():
    planted = [_observation(variant, 512) for variant in sorted({planted.variant for planted in PLANTED})]
    # Of these one case vanishes and one is new.
    others = [_observation(variant, ny) for variant in ("padding/computed", "mul_add/subregion") for ny in (64, 512)]
    document = run_document([*planted, *others])
    for planned in document["context"]["peakmark"]["planned"]:
        planned["backend"] = "dry"
    year = Year(json.loads(json.dumps(document)), 365, seed=3)
    return [year.night(i) for i in range(365)]


def _cases(night):
    return {row["peakmark"]["case"]: row["peakmark"] for row in night["benchmarks"]}


def test_nights_are_run_files_that_say_they_are_simulated(nights):
    assert [i for i, night in enumerate(nights) if night is None] == list(OFF_NIGHTS)
    there = [night for night in nights if night is not None]
    contexts = [night["context"]["peakmark"] for night in there]
    assert len({context["id"] for context in contexts}) == len(there)
    assert [context["date"] for context in contexts] == sorted(context["date"] for context in contexts)
    assert all("simulated" in context["environment"] and "simulated" in context["device"] for context in contexts)
    assert len(parse_run(there[-1], "night").cases) == len(there[-1]["benchmarks"])


def test_what_is_planted_is_there(nights):
    for planted in PLANTED:
        name = f"{planted.variant}/cuda/ny:512"
        before, after = ([_cases(nights[i])[name] for i in span if nights[i] is not None] for span in (
            range(planted.first - 20, planted.first),
            # Where the next one is planted some nights later, until then.
            range(planted.first + planted.drift_nights, min(planted.first + planted.drift_nights + 6, planted.last or 365, 365)),
        ))
        if planted.outcome is not None:
            assert {one["outcome"] for one in after} == {planted.outcome}
            assert _cases(nights[planted.last])[name]["outcome"] == "ok"
        elif planted.allocation is not None:
            grown = after[0]["requested_peak_bytes"] - before[-1]["requested_peak_bytes"]
            assert after[0]["at_peak"][-1] == {"name": planted.allocation[0], "kind": "device", "bytes": grown}
            assert sum(one["bytes"] for one in after[0]["at_peak"]) == after[0]["requested_peak_bytes"]
        else:
            level = [statistics.median(one["gpu_time_ns"]["median"] for one in part) for part in (before, after)]
            assert level[1] / level[0] == pytest.approx(planted.time, abs=0.02)


def test_the_estimate_leaves_its_window_at_the_end(nights):
    def ratio(night):
        one = _cases(night)["fbp/whole/cuda/ny:512"]
        return one["requested_peak_bytes"] / one["estimate"]["bytes_estimated"]

    assert all(0.8 <= ratio(night) <= 1 for night in nights[:359] if night is not None)
    assert ratio(nights[359]) > 1


def test_a_case_vanishes_and_one_is_new(nights):
    first, last = set(_cases(nights[0])), set(_cases(nights[-1]))
    assert len(first - last) == len(last - first) == 1
    assert len(set(_cases(nights[-2])) - last) == 0
    assert nights[DRIVER_NIGHT]["context"]["peakmark"]["driver"] != nights[0]["context"]["peakmark"]["driver"]


def test_the_same_seed_gives_the_same_year(nights):
    document = run_document([_observation("padding/coords1d", 64)])
    one, two, other = (Year(document, 2, seed).night(0)["benchmarks"] for seed in (1, 1, 2))
    assert one == two != other
