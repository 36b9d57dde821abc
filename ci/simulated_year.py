"""Writes a year of simulated nightly run files for ci/demo: bytes from a run on `dry`, times from a formula and a seed.

    simulated_year.py DRY_RUN -o FOLDER [--runs 365] [--seed 1]

Cases, bytes and estimates are those of the run. Times are bytes over a bandwidth, with noise per run (clocks), case and block.
The changes that a report must find are in PLANTED and the constants below it. Each run is marked as simulated in its
environment.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import sys

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

DEVICE = "simulated GPU"
FIRST_DATE = datetime(2025, 7, 1, 2)
BYTES_PER_NS, LAUNCH_NS = 900.0, 6_000.0
RUN_NOISE, CASE_NOISE, BLOCK_NOISE = 0.006, 0.008, 0.004
BLOCKS = 9
COPY_NS, ARITHMETIC_NS = 160_000.0, 210_000.0
# Time of a kernel over the time of moving its bytes.
SLOWNESS = {"padding": 1.3, "mul_add": 1.1, "vertical_shift": 1.2, "filter": 6.0, "backprojection": 40.0, "fbp": 45.0}


@dataclass(frozen=True)
class Planted:
    """A change of the cases of a variant in runs `first` to `last` − 1, or to the end if `last` is None."""

    variant: str
    first: int
    what: str
    last: int | None = None
    time: float = 1.0
    drift_runs: int = 0  # runs over which the time changes
    allocation: tuple[str, float] | None = None  # an additional allocation: name, bytes as a share of the case's peak
    estimated: bool = False  # the estimate includes the allocation
    outcome: str | None = None

    def applies(self, variant: str, index: int) -> bool:
        return variant == self.variant and self.first <= index and (self.last is None or index < self.last)

    def factor(self, index: int) -> float:
        """Returns the factor of the time in a run."""
        part = min(1.0, (index - self.first + 1) / self.drift_runs) if self.drift_runs else 1.0
        return 1 + (self.time - 1) * part


# Changes in 365 runs. With fewer runs, some never happen.
PLANTED = [
    Planted("mul_add/whole", 110, "a faster kernel", time=0.88),
    Planted("backprojection/tiled", 150, "crashes, fixed after three runs", last=153, outcome="crashed"),
    Planted("vertical_shift/muladd", 205, "slower, reverted after two weeks", last=219, time=1.09),
    Planted("padding/coords2d", 250, "one more table, accepted", allocation=("inverse_table", 0.02), estimated=True),
    Planted("vertical_shift/temporaries", 290, "drift: 10 % slower over 30 runs", time=1.10, drift_runs=30),
    Planted("fbp/whole", 300, "more memory, still in the window", allocation=("angle_table", 0.04)),
    Planted("fbp/whole", 330, "more memory, still in the window", allocation=("scratch", 0.04)),
    Planted("fbp/whole", 359, "more memory than estimated", allocation=("scratch_of_rows", 0.06)),
    Planted("filter/whole", 357, "an unnecessary buffer", allocation=("spectrum_copy", 0.08)),
    Planted("padding/coords1d", 352, "slower by 8 %", time=1.08),
]
# Factor of the estimate: too high at first, until the planted growth exceeds it.
ESTIMATE_FACTORS = {"fbp/whole": 1.10}
DRIVER_CHANGE, DRIVERS, DRIVER_TIME = 180, ("550.54.15", "555.42.02"), 0.975
MISSING_RUNS = range(90, 94)  # the machine is off
REMOVAL, REMOVED = 340, "mul_add/subregion"  # the case is removed from this run on
OUTLIERS = (33, 141, 268)  # another program used the device


def _commit(index: int, random: np.random.Generator, before: str) -> str:
    """Returns the commit of a run; not every run has a new one."""
    return hashlib.sha1(f"{index}".encode()).hexdigest() if not before or random.random() < 0.6 else before


def _renamed(case: str) -> str:
    return case.replace("/dry", "/cuda", 1)


def _grow(observation: dict[str, Any], name: str, part: float) -> int:
    size = max(256, int(observation["requested_peak_bytes"] * part) // 256 * 256)
    observation["at_peak"].append({"name": name, "kind": "device", "bytes": size})
    for key in ("requested_peak_bytes", "first_call_peak_bytes", "second_pass_peak_bytes"):
        observation[key] += size
    observation["by_kind"]["device"] += size
    observation["allocations"] += 1
    return size


def _fail(observation: dict[str, Any], outcome: str) -> None:
    observation.update(
        outcome=outcome, message="signal SIGSEGV (Segmentation fault)", gpu_time_ns=None, time_source=None, at_peak=[],
        by_kind={}, moved_allocations=[],
    )
    for key in (
        "requested_peak_bytes", "first_call_peak_bytes", "second_pass_peak_bytes", "setup_bytes", "input_bytes",
        "output_bytes", "leaked_bytes", "allocations", "bytes_moved", "output_dtype",
    ):
        observation[key] = None
    observation["estimate"] = observation["estimate"] | {"slices_estimated": None, "bytes_estimated": None}


def _prepared(observation: dict[str, Any]) -> dict[str, Any]:
    """Returns the observation as on a GPU, without times."""
    one = copy.deepcopy(observation)
    one["case"], one["backend"] = _renamed(one["case"]), "cuda"
    for allocation in one["at_peak"]:
        allocation["kind"] = "device"
    one["by_kind"] = {"device": one["requested_peak_bytes"]}
    if one["estimate"]["bytes_estimated"] is not None:
        one["estimate"]["bytes_estimated"] = int(one["estimate"]["bytes_estimated"] * ESTIMATE_FACTORS.get(one["variant"], 1.0))
    return one


class Year:
    """Makes the run files of a year."""

    def __init__(self, template: dict[str, Any], run_count: int, seed: int) -> None:
        self.run_count = run_count
        self._random = np.random.default_rng(seed)
        self._template = template
        planned = {one["case"]: one for one in template["context"]["peakmark"]["planned"]}
        wanted = [row["peakmark"] for row in template["benchmarks"] if "peakmark" in row]
        wanted = [one for one in wanted if one["outcome"] == "ok" and planned[one["case"]]["figure"] is not None]
        self._planned = [
            planned[one["case"]] | {"case": _renamed(one["case"]), "backend": "cuda"} for one in wanted
        ]
        self._observations = [_prepared(one) for one in wanted]
        variants = list(dict.fromkeys(one["variant"] for one in self._observations))
        # Variants differ a little in speed.
        self._speed = {variant: 1 + 0.15 * (i % 3) for i, variant in enumerate(variants)}
        self._commit = ""
        self._removed = next((one["case"] for one in self._observations if one["variant"] == REMOVED), None)
        self._newest = max(
            (one["case"] for one in self._observations if one["variant"] == "padding/computed"), default=None,
            key=lambda case: (len(case), case),
        )

    def _time(self, observation: dict[str, Any], index: int, clocks: float) -> dict[str, Any]:
        variant = observation["variant"]
        moved = observation["bytes_moved"] or observation["input_bytes"] + observation["output_bytes"]
        time = LAUNCH_NS + moved / BYTES_PER_NS * SLOWNESS[variant.split("/")[0]] * self._speed[variant]
        for planted in PLANTED:
            if planted.applies(variant, index):
                time *= planted.factor(index)
        time *= clocks * (1 + CASE_NOISE * self._random.standard_normal())
        blocks = time * (1 + BLOCK_NOISE * np.abs(self._random.standard_normal(BLOCKS)))
        return {
            "median": float(np.median(blocks)), "min": float(blocks.min()), "max": float(blocks.max()),
            "blocks": [[float(block)] for block in blocks],
        }

    def _measured(self, observation: dict[str, Any], index: int, clocks: float) -> dict[str, Any]:
        one = copy.deepcopy(observation)
        for planted in PLANTED:
            if not planted.applies(one["variant"], index):
                continue
            if planted.outcome is not None:
                _fail(one, planted.outcome)
                return one
            if planted.allocation is not None:
                size = _grow(one, *planted.allocation)
                if planted.estimated:
                    one["estimate"]["bytes_estimated"] += size
        one["gpu_time_ns"] = self._time(observation, index, clocks)
        one["time_source"] = "device"
        return one

    def _is_present(self, case: str, index: int) -> bool:
        if case == self._removed:
            return index < REMOVAL
        return case != self._newest or index == self.run_count - 1

    def run(self, index: int) -> dict[str, Any] | None:
        """Returns a run file, or None if the machine was off. Call in order, since each call draws random numbers."""
        clocks = 1 + RUN_NOISE * self._random.standard_normal()
        clocks *= 1.06 if index in OUTLIERS else 1.0
        self._commit = _commit(index, self._random, self._commit)
        if index in MISSING_RUNS:
            return None
        date = (FIRST_DATE + timedelta(days=index)).strftime("%Y-%m-%dT%H:%M:%SZ")
        new_driver = index >= DRIVER_CHANGE
        reference = [COPY_NS * clocks, ARITHMETIC_NS * clocks]
        clocks *= DRIVER_TIME if new_driver else 1.0
        document = {"context": copy.deepcopy(self._template["context"]), "benchmarks": []}
        context = document["context"]["peakmark"]
        context.update(
            id=f"{date.replace('-', '').replace(':', '')}-{index:016x}", date=date, host_name="simulated-runner",
            commit=self._commit, build="Release", backend="cuda", device=DEVICE, driver=DRIVERS[new_driver],
            platform="simulated", device_is_cpu=False, device_memory_bytes=80 * 2**30, complete=True, warnings=[],
            environment={"simulated": "ci/demo: no device was measured"},
            planned=[one for one in self._planned if self._is_present(one["case"], index)],
        )
        context["reference"] = {
            "first_ns": reference[0], "last_ns": reference[0], "copy_bytes": 2 * 64 * 2**20, "copy_ns": [reference[0]],
            "arithmetic_ns": [reference[1]],
        }
        document["context"]["date"] = date
        for observation in self._observations:
            if self._is_present(observation["case"], index):
                one = self._measured(observation, index, clocks)
                document["benchmarks"].append(
                    {"name": f"{one['case']}_peakmark", "run_name": one["case"], "run_type": "aggregate",
                     "aggregate_name": "peakmark", "peakmark": one}
                )
        return document


def write_year(template: Path, folder: Path, run_count: int, seed: int) -> None:
    """Writes run-000.json, run-001.json, … and prints their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    year = Year(json.loads(template.read_text(encoding="utf-8")), run_count, seed)
    for index in range(run_count):
        document = year.run(index)
        if document is not None:
            path = folder / f"run-{index:03d}.json"
            path.write_text(json.dumps(document), encoding="utf-8")
            print(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("template", type=Path, metavar="DRY_RUN")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write_year(options.template, options.output, options.runs, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
