"""A year of nightly run files that nobody measured, for ci/demo: the bytes of a run on `dry`, times by formula and seed.

    simulated_year.py DRY_RUN -o FOLDER [--nights 365] [--seed 1]

Cases, bytes and estimates are those of the run; times are what moves the bytes at a bandwidth, with noise a night (clocks),
a case and a block. What is planted stands in PLANTED and below, so that whoever reads the report can hold it against the
truth. Each run says in its environment that it is simulated.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

DEVICE = "simulated GPU"
FIRST_NIGHT = datetime(2025, 7, 1, 2)
BYTES_A_NS, LAUNCH_NS = 900.0, 6_000.0
NIGHT_NOISE, CASE_NOISE, BLOCK_NOISE = 0.006, 0.008, 0.004
BLOCKS = 9
COPY_NS, ARITHMETIC_NS = 160_000.0, 210_000.0
# How much slower than moving its bytes a kernel of each operation is.
SLOWNESS = {"padding": 1.3, "mul_add": 1.1, "vertical_shift": 1.2, "filter": 6.0, "backprojection": 40.0, "fbp": 45.0}


@dataclass(frozen=True)
class Planted:
    """From `first` to before `last` (to the end where it is None), the cases of a variant are changed so."""

    variant: str
    first: int
    what: str
    last: int | None = None
    time: float = 1.0
    drift_nights: int = 0
    allocation: tuple[str, float] | None = None
    """A further allocation at the peak: its name, and its bytes as a part of the case's peak."""
    estimated: bool = False
    """The estimator knows of the allocation."""
    outcome: str | None = None

    def holds(self, variant: str, night: int) -> bool:
        return variant == self.variant and self.first <= night and (self.last is None or night < self.last)

    def factor(self, night: int) -> float:
        """Of the time; a drift comes little by little."""
        part = min(1.0, (night - self.first + 1) / self.drift_nights) if self.drift_nights else 1.0
        return 1 + (self.time - 1) * part


# Nights of a year of 365; of a shorter one, the part that lies in it.
PLANTED = [
    Planted("mul_add/whole", 110, "a faster kernel", time=0.88),
    Planted("backprojection/tiled", 150, "crashes, mended after three nights", last=153, outcome="crashed"),
    Planted("vertical_shift/muladd", 205, "slower, reverted after two weeks", last=219, time=1.09),
    Planted("padding/coords2d", 250, "a further table, accepted", allocation=("inverse_table", 0.02), estimated=True),
    Planted("vertical_shift/temporaries", 290, "10 % slower little by little over 30 nights", time=1.10, drift_nights=30),
    Planted("fbp/whole", 300, "more memory, still in the window", allocation=("angle_table", 0.04)),
    Planted("fbp/whole", 330, "more memory, still in the window", allocation=("scratch", 0.04)),
    Planted("fbp/whole", 359, "more memory than is estimated", allocation=("scratch_of_rows", 0.06)),
    Planted("filter/whole", 357, "a buffer that nobody needs", allocation=("spectrum_copy", 0.08)),
    Planted("padding/coords1d", 352, "slower by 8 %", time=1.08),
]
# The estimate of this one leaves room, which the growth above eats up.
GENEROUS = {"fbp/whole": 1.10}
DRIVER_NIGHT, DRIVERS, DRIVER_TIME = 180, ("550.54.15", "555.42.02"), 0.975
OFF_NIGHTS = range(90, 94)  # the machine is off
VANISHES_NIGHT, VANISHES = 340, "mul_add/subregion"
OUTLIER_NIGHTS = (33, 141, 268)  # somebody else used the device


def _commit(night: int, random: np.random.Generator, before: str) -> str:
    """Not every night brings a commit."""
    return hashlib.sha1(f"{night}".encode()).hexdigest() if not before or random.random() < 0.6 else before


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
    """As it would be on a GPU, without times."""
    one = copy.deepcopy(observation)
    one["case"], one["backend"] = _renamed(one["case"]), "cuda"
    for allocation in one["at_peak"]:
        allocation["kind"] = "device"
    one["by_kind"] = {"device": one["requested_peak_bytes"]}
    generous = GENEROUS.get(one["variant"], 1.0)
    if one["estimate"]["bytes_estimated"] is not None:
        one["estimate"]["bytes_estimated"] = int(one["estimate"]["bytes_estimated"] * generous)
    return one


class Year:
    """Run documents, night by night."""

    def __init__(self, template: dict[str, Any], nights: int, seed: int) -> None:
        self.nights = nights
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
        # Each variant is a little slower or faster than the other.
        self._speed = {variant: 1 + 0.15 * (i % 3) for i, variant in enumerate(variants)}
        self._commit = ""
        self._gone = next((one["case"] for one in self._observations if one["variant"] == VANISHES), None)
        self._newest = max(
            (one["case"] for one in self._observations if one["variant"] == "padding/computed"), default=None,
            key=lambda case: (len(case), case),
        )

    def _time(self, observation: dict[str, Any], night: int, clocks: float) -> dict[str, Any]:
        variant = observation["variant"]
        moved = observation["bytes_moved"] or observation["input_bytes"] + observation["output_bytes"]
        time = LAUNCH_NS + moved / BYTES_A_NS * SLOWNESS[variant.split("/")[0]] * self._speed[variant]
        for planted in PLANTED:
            if planted.holds(variant, night):
                time *= planted.factor(night)
        time *= clocks * (1 + CASE_NOISE * self._random.standard_normal())
        blocks = time * (1 + BLOCK_NOISE * np.abs(self._random.standard_normal(BLOCKS)))
        return {
            "median": float(np.median(blocks)), "min": float(blocks.min()), "max": float(blocks.max()),
            "blocks": [[float(block)] for block in blocks],
        }

    def _measured(self, observation: dict[str, Any], night: int, clocks: float) -> dict[str, Any]:
        one = copy.deepcopy(observation)
        for planted in PLANTED:
            if not planted.holds(one["variant"], night):
                continue
            if planted.outcome is not None:
                _fail(one, planted.outcome)
                return one
            if planted.allocation is not None:
                size = _grow(one, *planted.allocation)
                if planted.estimated:
                    one["estimate"]["bytes_estimated"] += size
        one["gpu_time_ns"] = self._time(observation, night, clocks)
        one["time_source"] = "device"
        return one

    def _is_there(self, case: str, night: int) -> bool:
        if case == self._gone:
            return night < VANISHES_NIGHT
        return case != self._newest or night == self.nights - 1

    def night(self, night: int) -> dict[str, Any] | None:
        """None where the machine was off. To be asked in order: the noise follows."""
        clocks = 1 + NIGHT_NOISE * self._random.standard_normal()
        clocks *= 1.06 if night in OUTLIER_NIGHTS else 1.0
        self._commit = _commit(night, self._random, self._commit)
        if night in OFF_NIGHTS:
            return None
        date = (FIRST_NIGHT + timedelta(days=night)).strftime("%Y-%m-%dT%H:%M:%SZ")
        new_driver = night >= DRIVER_NIGHT
        reference = [COPY_NS * clocks, ARITHMETIC_NS * clocks]
        clocks *= DRIVER_TIME if new_driver else 1.0
        document = {"context": copy.deepcopy(self._template["context"]), "benchmarks": []}
        context = document["context"]["peakmark"]
        context.update(
            id=f"{date.replace('-', '').replace(':', '')}-{night:016x}", date=date, host_name="simulated-runner",
            commit=self._commit, build="Release", backend="cuda", device=DEVICE, driver=DRIVERS[new_driver],
            platform="simulated", device_is_cpu=False, device_memory_bytes=80 * 2**30, complete=True, warnings=[],
            environment={"simulated": "ci/demo: no device was measured"},
            planned=[one for one in self._planned if self._is_there(one["case"], night)],
        )
        context["reference"] = {
            "first_ns": reference[0], "last_ns": reference[0], "copy_ns": [reference[0]], "arithmetic_ns": [reference[1]],
        }
        document["context"]["date"] = date
        for observation in self._observations:
            if self._is_there(observation["case"], night):
                one = self._measured(observation, night, clocks)
                document["benchmarks"].append(
                    {"name": f"{one['case']}_peakmark", "run_name": one["case"], "run_type": "aggregate",
                     "aggregate_name": "peakmark", "peakmark": one}
                )
        return document


def write_year(template: Path, folder: Path, nights: int, seed: int, told: Callable[[Path], None] = print) -> None:
    """A file a night, named so that they sort by date; `told` hears of each."""
    folder.mkdir(parents=True, exist_ok=True)
    year = Year(json.loads(template.read_text(encoding="utf-8")), nights, seed)
    for i in range(nights):
        document = year.night(i)
        if document is not None:
            path = folder / f"night-{i:03d}.json"
            path.write_text(json.dumps(document), encoding="utf-8")
            told(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("template", type=Path, metavar="DRY_RUN")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write_year(options.template, options.output, options.nights, options.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
