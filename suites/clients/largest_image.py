#!/usr/bin/env python3
"""Predicts the largest single image that pyclesperanto, or its prototype, can process, and confirms it with a trial.

    suites/clients/largest_image.py [--of pyclesperanto-0.25.1] [--ny 1024] [--nx 1024] [--peakmark PROGRAM]
                                    [--json FILE] [OPERATION...]

An image has nz × ny × nx f32 pixels. The prediction is the max nz for which the image fits into one buffer of the device, and the
memory of the operation (pyclesperanto_estimators.py) into the device's memory. Two trials follow, each in a child process
under `peakmark record --sync`: with nz planes, which must work with the predicted peak, and with one plane more, which
shows whether the device enforces its limit. Exit code 3 if a prediction was wrong.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import pyclesperanto_estimators

HERE = Path(__file__).resolve().parent
ESTIMATORS = {
    "pyclesperanto-0.25.1": pyclesperanto_estimators.pyclesperanto,
    "pyclesperanto-prototype-0.24.6": pyclesperanto_estimators.prototype,
}
OPERATIONS = [*pyclesperanto_estimators.IMAGES, "max_z_projection", "sum_all_pixels"]
ELEMENT = pyclesperanto_estimators.ELEMENT
EXIT_MEASUREMENT = 3


@dataclass
class Limits:
    """Limits that the device reports, in bytes."""

    device: str
    memory: int
    allocation: int


@dataclass
class Prediction:
    planes: int
    peak_bytes: int
    limit: str


@dataclass
class Trial:
    planes: int
    worked: bool
    peak_bytes: int | None  # None without a recorder
    refused: bool  # an allocation failed
    last_line: str  # of the program's standard error


def predict(estimator, operation, plane_shape, limits):
    """Returns the max number of planes, their peak, and the limit that applies."""
    per_plane, fixed = estimator(plane_shape, "float32", operation=operation)
    by_allocation = limits.allocation // (ELEMENT * plane_shape[0] * plane_shape[1])
    by_memory = (limits.memory - fixed) // per_plane
    planes = min(by_allocation, by_memory)
    limit = "one buffer" if by_allocation <= by_memory else "the device's memory"
    return Prediction(planes, planes * per_plane + fixed, limit)


def run_json(peakmark, *arguments):
    """Returns the output of a command of peakmark with --json."""
    done = subprocess.run([peakmark, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def first_device_limits(peakmark):
    for device in run_json(peakmark, "devices")["devices"]:
        if device["backend"] == "opencl":
            return Limits(device["name"], device["memory_bytes"], device["max_allocation_bytes"])
    sys.exit(f"largest_image: no OpenCL device found; `{peakmark} devices` shows why")


def run_trial(peakmark, python, operation, shape):
    """Runs an operation in a child process, so that a failure does not affect later trials."""
    program = [python, HERE / "pyclesperanto_operations.py", "--unchecked", "--calls", "1", operation, *shape]
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        done = subprocess.run(
            [peakmark, "record", "--sync", "-o", profile, "--", *map(str, program)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "PEAKMARK_DEVICE": "0"},  # the device of first_device_limits()
        )  # fmt: skip
        requested = run_json(peakmark, "show", profile)["requested"] if profile.exists() else None
    return Trial(
        shape[0],
        done.returncode == 0,
        requested and requested["peak_bytes"],
        bool(requested and requested["failed_allocations"]),
        (done.stderr.strip().splitlines() or [""])[-1],
    )


def trial_verdict(prediction, confirming):
    if not confirming.worked:
        return f"wrong: {confirming.last_line}"
    if confirming.peak_bytes != prediction.peak_bytes:
        return f"wrong: took {confirming.peak_bytes} bytes"
    return "confirmed"


def larger_trial_result(trial):
    if trial.worked:
        return "works"
    return "refused" if trial.refused else f"failed: {trial.last_line}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", choices=ESTIMATORS, default="pyclesperanto-0.25.1", help="the environment")
    parser.add_argument("--ny", type=int, default=1024)
    parser.add_argument("--nx", type=int, default=1024)
    parser.add_argument("--peakmark", default="peakmark", help="the program (default: in PATH)")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help=", ".join(OPERATIONS))
    asked = parser.parse_args()
    if not set(asked.operations) <= set(OPERATIONS):
        parser.error(f"unknown operation; give some of {', '.join(OPERATIONS)}")
    python = Path(os.environ.get("PEAKMARK_ENVIRONMENTS") or "build/environments").absolute() / asked.of / "bin/python"
    if not python.exists():
        parser.error(f"environment not found: {python}; run {HERE / 'make-environments'} {asked.of}")

    limits = first_device_limits(asked.peakmark)
    figures, wrong = [], False
    print(f"{asked.of} on {limits.device}: memory {limits.memory}, one buffer {limits.allocation} bytes\n")
    print(
        f"| operation | largest, × {asked.ny} × {asked.nx} | its bytes | limit | peak, bytes | trial | one plane more |"
    )
    print("|---|---|---|---|---|---|---|")
    for operation in asked.operations or OPERATIONS:
        predicted = predict(ESTIMATORS[asked.of], operation, (asked.ny, asked.nx), limits)
        confirming = run_trial(asked.peakmark, python, operation, (predicted.planes, asked.ny, asked.nx))
        larger = run_trial(asked.peakmark, python, operation, (predicted.planes + 1, asked.ny, asked.nx))
        verdict = trial_verdict(predicted, confirming)
        wrong = wrong or verdict != "confirmed"
        cells = [
            operation,
            predicted.planes,
            ELEMENT * predicted.planes * asked.ny * asked.nx,
            predicted.limit,
            predicted.peak_bytes,
            verdict,
            larger_trial_result(larger),
        ]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        figures.append(
            {"operation": operation, "predicted": asdict(predicted), "trials": [asdict(confirming), asdict(larger)]}
        )
    if asked.json:
        of_run = {"of": asked.of, "limits": asdict(limits), "ny": asked.ny, "nx": asked.nx, "operations": figures}
        asked.json.write_text(json.dumps(of_run, indent=1) + "\n", encoding="utf-8")
    return EXIT_MEASUREMENT if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
