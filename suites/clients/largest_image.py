#!/usr/bin/env python3
"""The largest single image that pyclesperanto, or its prototype, can work on: by prediction, and one confirming trial.

    suites/clients/largest_image.py [--of pyclesperanto-0.25.1] [--ny 1024] [--nx 1024] [--peakmark PROGRAM]
                                    [--json FILE] [OPERATION...]

An image of nz × ny × nx f32, ny and nx as given. Predicted is the greatest nz for which the image is no larger than
what the device gives in one buffer, and what the operation needs (pyclesperanto_estimators.py) is no more than the
device's memory. Two trials follow, each a child process under `peakmark record --sync`: with nz planes, which must
work and take what was predicted, and with one more, which tells whether the device keeps to the limit that it
names. Exit code 3 where a prediction was wrong.
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
    """What the device says of itself, in bytes."""

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
    peak_bytes: int | None  # none where there was no recorder
    refused: bool  # the device did not give an allocation
    said: str  # by the program, last


def predict(estimator, operation, plane_shape, limits):
    """The most planes that fit, what they take, and which limit it is."""
    per_plane, fixed = estimator(plane_shape, "float32", operation=operation)
    by_allocation = limits.allocation // (ELEMENT * plane_shape[0] * plane_shape[1])
    by_memory = (limits.memory - fixed) // per_plane
    planes = min(by_allocation, by_memory)
    limit = "one buffer" if by_allocation <= by_memory else "the device's memory"
    return Prediction(planes, planes * per_plane + fixed, limit)


def told_by(peakmark, *arguments):
    done = subprocess.run([peakmark, *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def limits_of_first_device(peakmark):
    for device in told_by(peakmark, "devices")["devices"]:
        if device["backend"] == "opencl":
            return Limits(device["name"], device["memory_bytes"], device["max_allocation_bytes"])
    sys.exit(f"largest_image: there is no OpenCL device; `{peakmark} devices` tells why")


def try_it(peakmark, python, operation, shape):
    """In a child process of its own: what a failure leaves behind is gone with it."""
    program = [python, HERE / "pyclesperanto_operations.py", "--unchecked", "--calls", "1", operation, *shape]
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        done = subprocess.run(
            [peakmark, "record", "--sync", "-o", profile, "--", *map(str, program)],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "PEAKMARK_DEVICE": "0"},  # the first one, whose limits these are
        )  # fmt: skip
        requested = told_by(peakmark, "show", profile)["requested"] if profile.exists() else None
    return Trial(
        shape[0],
        done.returncode == 0,
        requested and requested["peak_bytes"],
        bool(requested and requested["failed_allocations"]),
        (done.stderr.strip().splitlines() or [""])[-1],
    )


def verdict_of(prediction, confirming):
    if not confirming.worked:
        return f"wrong: {confirming.said}"
    if confirming.peak_bytes != prediction.peak_bytes:
        return f"wrong: took {confirming.peak_bytes} bytes"
    return "confirmed"


def beyond(trial):
    if trial.worked:
        return "given all the same"
    return "refused" if trial.refused else f"failed: {trial.said}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", choices=ESTIMATORS, default="pyclesperanto-0.25.1", help="the environment")
    parser.add_argument("--ny", type=int, default=1024)
    parser.add_argument("--nx", type=int, default=1024)
    parser.add_argument("--peakmark", default="peakmark", help="the program; default: the one on the path")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help=", ".join(OPERATIONS))
    asked = parser.parse_args()
    if not set(asked.operations) <= set(OPERATIONS):
        parser.error(f"operations are {', '.join(OPERATIONS)}")
    python = Path(os.environ.get("PEAKMARK_ENVIRONMENTS") or "build/environments").absolute() / asked.of / "bin/python"
    if not python.exists():
        parser.error(f"{python} is not there: make it by {HERE / 'make-environments'} {asked.of}")

    limits = limits_of_first_device(asked.peakmark)
    figures, wrong = [], False
    print(f"{asked.of} on {limits.device}: memory {limits.memory}, one buffer {limits.allocation} bytes\n")
    print(
        f"| operation | largest, × {asked.ny} × {asked.nx} | its bytes | limit | peak, bytes | trial | a plane more |"
    )
    print("|---|---|---|---|---|---|---|")
    for operation in asked.operations or OPERATIONS:
        predicted = predict(ESTIMATORS[asked.of], operation, (asked.ny, asked.nx), limits)
        confirming = try_it(asked.peakmark, python, operation, (predicted.planes, asked.ny, asked.nx))
        larger = try_it(asked.peakmark, python, operation, (predicted.planes + 1, asked.ny, asked.nx))
        verdict = verdict_of(predicted, confirming)
        wrong = wrong or verdict != "confirmed"
        cells = [
            operation,
            predicted.planes,
            ELEMENT * predicted.planes * asked.ny * asked.nx,
            predicted.limit,
            predicted.peak_bytes,
            verdict,
            beyond(larger),
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
