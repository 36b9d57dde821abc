#!/usr/bin/env python3
"""Compares the formulas of `peakmark explain` with the models of Extra-P, fitted to the same peaks; prints one markdown table.

    python3 -m venv build/extrap && build/extrap/bin/pip install extrap
    build/extrap/bin/python bench/peers/extrap_models.py [--peakmark build/prefix/bin/peakmark] [-o FILE]

Each subject is a variant on `dry` whose shapes have two free axes, since Extra-P needs five values of each axis: 25 shapes for the
fit, and larger shapes that neither has seen. The error is (model - recorded) / recorded, in bytes of the peak.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from extrap.entities.callpath import Callpath
from extrap.entities.coordinate import Coordinate
from extrap.entities.experiment import Experiment
from extrap.entities.measurement import Measurement
from extrap.entities.metric import Metric
from extrap.entities.parameter import Parameter
from extrap.modelers.model_generator import ModelGenerator

from formula_values import peak_function, unexplained_names

SQUARE = {"nx": "ny", "pad_y0": "pad_x0", "pad_y1": "pad_x0", "pad_x1": "pad_x0"}
PADDING = {"variant": "", "free": ("ny", "pad_x0"), "fixed": {"mode": "edge", "n": 1}, "derived": SQUARE,
           "fitted": ([64, 101, 165, 229, 333], [8, 17, 31, 53, 100]), "unseen": [(512, 128), (1536, 100), (4096, 2048)]}
FBP = {"variant": "fbp/whole", "free": ("n_a", "w"), "fixed": {"n_z": 1}, "derived": {},
       "fitted": ([100, 181, 250, 360, 500], [64, 101, 165, 229, 333]),
       "unseen": [(720, 512), (1801, 2560), (2880, 2048), (43200, 16384)]}
SUBJECTS = [PADDING | {"variant": "padding/coords2d"}, PADDING | {"variant": "padding/coords1d"}, FBP]


def suite(subject: dict, first: list[int], second: list[int]) -> str:
    """A sweep of all pairs of the two free axes' values."""
    lines = ['name = "extrap"', 'window = "0.8:1.0"', "[[sweep]]", f'variants = "{subject["variant"]}"']
    lines += [f"axes.{axis} = {json.dumps(value)}" for axis, value in subject["fixed"].items()]
    lines += [f"axes.{axis} = {values}" for axis, values in zip(subject["free"], (first, second), strict=True)]
    lines += [f'axes.{axis} = {{ formula = "{source}" }}' for axis, source in subject["derived"].items() if axis != source]
    return "\n".join(lines) + "\n"


def peaks(peakmark: Path, folder: Path, name: str, text: str) -> tuple[Path, list[tuple[dict, int]]]:
    """Runs a suite; returns its run file, and axes and recorded peak of each case."""
    toml, run = folder / f"{name}.toml", folder / f"{name}.json"
    toml.write_text(text)
    subprocess.run([peakmark, "run", toml, "--backend", "dry", "--memory-only", "--sequences", "-o", run], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = [row["peakmark"] for row in json.loads(run.read_text())["benchmarks"] if "peakmark" in row]
    return run, [(row["axes"], row["requested_peak_bytes"]) for row in rows]


def extrap_model(free: tuple[str, str], rows: list[tuple[dict, int]]):
    """Returns the function that Extra-P's default modeler finds."""
    experiment, case, metric = Experiment(), Callpath("case"), Metric("bytes")
    for axis in free:
        experiment.add_parameter(Parameter(axis))
    experiment.add_callpath(case)
    experiment.add_metric(metric)
    for axes, peak in rows:
        coordinate = Coordinate(*(axes[axis] for axis in free))
        experiment.add_coordinate(coordinate)
        experiment.add_measurement(Measurement(coordinate, case, metric, [float(peak)]))
    generator = ModelGenerator(experiment)
    generator.model_all()
    return next(iter(generator.models.values())).hypothesis.function


def explained(peakmark: Path, run: Path):
    """Returns a function of the axes that gives the bytes of `peakmark explain`, and the allocations that they leave out."""
    output = subprocess.run([peakmark, "explain", run, "--json"], check=False, text=True, capture_output=True).stdout
    (variant,) = json.loads(output)["variants"]
    return peak_function(variant), unexplained_names(variant)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--peakmark", type=Path, default=Path("build/prefix/bin/peakmark"))
    arguments.add_argument("-o", "--output", type=Path)
    options = arguments.parse_args()
    lines = ["| variant | shape | recorded bytes | Extra-P | `peakmark explain` |", "|---|---|---:|---:|---:|"]
    with tempfile.TemporaryDirectory() as name:
        for subject in SUBJECTS:
            free = subject["free"]
            run, fitted = peaks(options.peakmark, Path(name), "fitted", suite(subject, *subject["fitted"]))
            model, (formula, left_out) = extrap_model(free, fitted), explained(options.peakmark, run)
            note = f" ({', '.join(left_out)}: named, no formula)" if left_out else ""
            for first, second in subject["unseen"]:
                _, [(axes, recorded)] = peaks(options.peakmark, Path(name), "unseen", suite(subject, [first], [second]))
                guess = float(numpy.ravel(model.evaluate(numpy.array([first, second], dtype=float)))[0])
                ours = formula({axis: value for axis, value in axes.items() if isinstance(value, int)})
                lines.append(f"| `{subject['variant']}` | {free[0]} {first}, {free[1]} {second} | {recorded:,} | "
                             f"{guess / recorded - 1:+.1%} | {ours - recorded:+,} B{note} |")
    text = "\n".join(lines) + "\n"
    if options.output:
        options.output.write_text(text)
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
