"""Names the causes of wrong estimates from all shapes of a parametrized test, with the formulas of `peakmark explain`."""

from __future__ import annotations

import json
import pathlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from peakmark.estimator_check import Answer, EstimatorQuestion
from peakmark.recorders import NoRecorder, run_peakmark
from peakmark.sizes import quantity
from peakmark.windows import Group

#: With fewer shapes `explain` looks for no formulas.
MIN_SHAPES = 6
SECONDS = 120.0


def axes_of(mark: pytest.Mark, question: EstimatorQuestion) -> dict[str, int | str]:
    """Returns the axes of a shape: slices, dimensions and parameters, named as in the mark."""
    given = mark.kwargs
    axes: dict[str, int | str] = {}
    if "data" in given:
        places = [place for place in range(len(question.dimensions) + 1) if place != question.slice_axis]
        names = [f"length_{place}" for place in places]
    else:
        names = [name if isinstance(name, str) else f"length_{i}" for i, name in enumerate(given["dimensions"])]
    axes[given["n"] if isinstance(given.get("n"), str) else "n"] = question.slices
    axes.update(zip(names, question.dimensions))
    for name, value in question.parameters.items():
        axes[name] = value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else str(value)
    axes["dtype"] = question.dtype
    return axes


def estimate_result(
    mark: pytest.Mark, question: EstimatorQuestion, answer: Answer, peak_bytes: int, at_peak: Sequence[Group], is_outside: bool
) -> dict[str, Any]:
    """Returns one answer, and the allocations live at the peak, as plain values."""
    return {
        "estimator": question.function,
        "form": question.form,
        "axes": axes_of(mark, question),
        "slices": question.slices,
        "peak_bytes": peak_bytes,
        "slices_estimated": answer.slices,
        "bytes_estimated": answer.bytes,
        "terms": answer.terms,
        "outside": is_outside,
        "at_peak": [
            {"name": one.name, "phase": one.phase, "where": one.where, "bytes": one.bytes, "count": one.count, "largest_bytes": one.largest_bytes}
            for one in at_peak
        ],
    }


def _sequence(groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the allocations live at the peak as an allocation sequence of a run file, in which all are live at one time.

    Equal allocations of a group are counted; allocations of different sizes are merged into one."""
    groups = [
        dict(one, bytes=one["largest_bytes"] if is_equal else one["bytes"])
        for one in groups
        for is_equal in [one["bytes"] == one["count"] * one["largest_bytes"]]
        for _ in range(one["count"] if is_equal else 1)
    ]
    kinds = [{"name": one["name"], "phase": one["phase"], "where": one["where"]} for one in groups]
    return {
        "kinds": kinds,
        "kind": list(range(len(groups))),
        "bytes": [one["bytes"] for one in groups],
        "allocated_at": list(range(len(groups))),
        "released_at": [None] * len(groups),
        "not_repeated": [],
    }


_UNKNOWN = (
    "first_call_peak_bytes", "setup_bytes", "input_bytes", "output_bytes", "leaked_bytes", "allocations",
    "pool_reserved_peak_bytes", "second_pass_peak_bytes", "gpu_time_ns", "gpu_time_again_ns", "time_source", "cache",
    "gpu_time_hot_ns", "throttled_blocks", "bytes_moved", "flops", "output_dtype",
)  # fmt: skip


def _observation(variant: str, case: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    estimate = {
        "estimator": entry["estimator"],
        "form": entry["form"],
        "slices_used": entry["slices"],
        "slices_estimated": entry["slices_estimated"],
        "bytes_estimated": entry["bytes_estimated"],
        "dtype": None,
        "error": None,
    }
    if entry["terms"]:
        estimate["terms"] = entry["terms"]
    return {
        "case": case,
        "axes": entry["axes"],
        "variant": variant,
        "backend": "pytest",
        "outcome": "ok",
        "message": "",
        "requested_peak_bytes": entry["peak_bytes"],
        **dict.fromkeys(_UNKNOWN),
        "at_peak": [],
        "by_kind": {},
        "moved_allocations": [],
        "allocation_sequence": _sequence(entry["at_peak"]),
        "destroys_input": False,
        "kernels": [],
        "estimate": estimate,
        "other_estimates": [],
    }


def _context() -> dict[str, Any]:
    return {
        "version": 1,
        "minor": 0,
        "id": "pytest",
        "date": "",
        "host_name": "",
        "complete": True,
        "suite": "pytest",
        "fingerprint": "",
        "suite_files": None,
        "filter": None,
        "asked_backend": None,
        "asked_cache": None,
        "shard": None,
        "commit": "",
        "build": "",
        "worker": "pytest",
        "backend": "pytest",
        "device": "",
        "driver": "",
        "platform": "",
        "device_is_cpu": False,
        "device_memory_bytes": 0,
        "largest_allocation_bytes": None,
        "clocks": dict.fromkeys(("sm_mhz", "max_sm_mhz", "memory_mhz", "max_memory_mhz", "memory_bus_bits")),
        "memory_only": True,
        "budget_bytes": None,
        "environment": {},
        "warnings": [],
        "reference": {"first_ns": None, "last_ns": None, "copy_bytes": None, "copy_ns": [], "arithmetic_ns": []},
        "rounds": None,
        "planned": [],
    }


def run_document(variant: str, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns a run file of the shapes of one test."""
    cases = [f"{variant}#{number}" for number, _ in enumerate(entries)]
    rows = [
        {"name": f"{case}_peakmark", "run_name": case, "run_type": "aggregate", "peakmark": _observation(variant, case, entry)}
        for case, entry in zip(cases, entries)
    ]
    return {"context": {"peakmark": _context()}, "benchmarks": rows}


def _explain(variant: str, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns a line for each cause."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run.json"
        run.write_text(json.dumps(run_document(variant, entries)), encoding="utf-8")
        try:
            answer, errors, exit_code = run_peakmark(["explain", str(run), "--against", entries[0]["estimator"], "--json"], SECONDS)
        except NoRecorder:
            return ["not explained: the program peakmark is not found; install it, or add it to PATH"]
        except subprocess.TimeoutExpired:
            return [f"not explained within {SECONDS:g} s"]
    try:
        causes = json.loads(answer)["causes"]
    except (ValueError, KeyError):
        last = (errors.splitlines() or [f"exit code {exit_code}"])[-1]
        return [f"not explained: {last}"]
    return [str(cause["text"]) for cause in causes]


def cause_lines(tests: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns the causes of the estimates outside their window, for each test function and estimator."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for test, result in tests.items():
        for entry in result.get("estimates", ()):
            found.setdefault((test.split("[", 1)[0], entry["estimator"]), []).append(entry)
    lines = []
    for (test, estimator), entries in found.items():
        outside = sum(entry["outside"] for entry in entries)
        if outside == 0:
            continue
        shapes = len({json.dumps(entry["axes"], sort_keys=True) for entry in entries})
        lines.append(f"{estimator} is outside its window at {outside} of {quantity(len(entries), 'shape')} of {test}")
        if shapes < MIN_SHAPES:
            lines.append(f"\tparametrize the test with {MIN_SHAPES} shapes or more: then the cause is named here")
        else:
            lines += [f"\t{line}" for line in _explain(test, entries)]
    return lines
