#!/usr/bin/env python3
"""Explains clients of suites/clients from small shapes, and compares the formulas with their exact models at large shapes.

    suites/clients/make-environments
    bench/peers/client_formulas.py [nabu_fbp] [nabu_padding] [pyclesperanto] [--peakmark build/prefix/bin/peakmark] [--keep FOLDER]

Prints one markdown table. A model is the estimator of the suite's folder, which was written by hand from the sources. A difference
is formula - model in bytes, at the worst of the large shapes. Allocations without a formula are left out of both: for nabu's FBP
VkFFT's tables. Exit code 1 if a formula differs from its model.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from formula_values import peak_function, unexplained_names

CLIENTS = Path(__file__).resolve().parents[2] / "suites/clients"
sys.path.insert(0, str(CLIENTS))
import nabu_estimators  # noqa: E402
import pyclesperanto_estimators  # noqa: E402

DETECTORS = [(2880, 2048), (1801, 2560), (43200, 16384)]  # angles and width, or rows and columns
PADS = {"pad_y0": 100, "pad_y1": 101, "pad_x0": 512, "pad_x1": 64}
FLOAT32 = None  # the models compute in single precision, whatever they are asked


def fbp_model(release, words, axes):
    model = nabu_estimators.fbp_2023_2 if release == "2023.2.0" else nabu_estimators.fbp_2026_1
    shape = (axes["n_a"], axes["w"])
    per_slice, fixed = model(shape, FLOAT32, padding=words["padding"], memory="host")
    return per_slice + fixed - nabu_estimators._fft_tables(nabu_estimators.padded_width(axes["w"]))


def padding_model(release, words, axes):
    model = nabu_estimators.padding_2023_2 if release == "2023.2.0" else nabu_estimators.padding_2026_1
    per_slice, fixed = model((axes["ny"], axes["nx"]), FLOAT32, mode=words["mode"], **PADS)
    return per_slice + fixed


def operation_model(release, words, axes):
    model = pyclesperanto_estimators.pyclesperanto if release == "0.25.1" else pyclesperanto_estimators.prototype
    per_plane, fixed = model((axes["ny"], axes["nx"]), FLOAT32, operation=words["operation"])
    return per_plane * axes["nz"] + fixed


# `explain`: the arguments, where explain chooses the shapes; else `sweep`: lines of a suite.
SUBJECTS = {
    "nabu_fbp": {"suite": "nabu", "explain": ["memory=host", "n_z=1", "--filter", "^nabu_fbp"], "model": fbp_model,
                 "large": [{"n_z": 1, "n_a": n_a, "w": w} for n_a, w in DETECTORS]},
    "nabu_padding": {"suite": "nabu", "explain": ["n=1", "--filter", "^nabu_padding"], "model": padding_model,
                     "large": [{"n": 1, "ny": ny, "nx": nx} | PADS for ny, nx in DETECTORS]},
    "pyclesperanto": {"suite": "pyclesperanto", "sweep": """
axes.operation = [
  "create", "push", "pull", "gaussian_blur", "transpose", "mean_box", "top_hat", "difference_of_gaussian", "max_z_projection",
  "sum_all_pixels",
]
[[sweep.zip]]
nz = [5, 9, 5, 5, 13, 20, 7, 31, 4, 16]
ny = [31, 31, 64, 31, 57, 100, 128, 44, 210, 75]
nx = [41, 41, 41, 77, 70, 128, 53, 90, 33, 301]
""", "model": operation_model,
                      "large": [{"nz": 1, "ny": ny, "nx": nx} for ny, nx in DETECTORS] + [{"nz": 100, "ny": 2160, "nx": 2560}]},
}  # fmt: skip


def suite_with_shapes(subject: dict) -> str:
    """Returns the programs of the shipped suite with the shapes of the subject, and without estimators."""
    text = (CLIENTS / f"{subject['suite']}.toml").read_text()
    programs = [section for section in re.split(r"\n(?=\[\[)", text) if section.startswith("[[program]]")]
    programs = [re.sub(r"^estimator = .*\n", "", program, flags=re.MULTILINE) for program in programs]
    sweep = f'[[sweep]]\nvariants = "*"{subject["sweep"]}'
    return "\n".join([*programs, sweep]).replace("{suite_folder}", str(CLIENTS))


def explain(peakmark: Path, folder: Path, name: str) -> list[dict]:
    """Explains a subject, unless the folder has the result; returns the entries of `variants`."""
    subject = SUBJECTS[name]
    result = folder / f"{name}.explained.json"
    if not result.exists():
        if "explain" in subject:
            command = [peakmark, "explain", CLIENTS / f"{subject['suite']}.toml", *subject["explain"], "--json"]
        else:
            suite, run = folder / f"{name}.toml", folder / f"{name}.json"
            suite.write_text(suite_with_shapes(subject))
            if not run.exists():
                record = [peakmark, "run", suite, "--memory-only", "--sequences", "-o", run]
                subprocess.run(record, check=True, stdout=subprocess.DEVNULL)
            command = [peakmark, "explain", run, "--json"]
        output = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE).stdout
        variants = json.loads(output)["variants"]  # before the file is there
        result.write_text(output)
        return variants
    return json.loads(result.read_text())["variants"]


def word_sets(variant: dict) -> list[dict]:
    """Returns each combination of words that an entry is of."""
    sets = [{}]
    for axis, words in variant["words"].items():
        sets = [one | {axis: word} for one in sets for word in words]
    return sets


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"default: all of {', '.join(SUBJECTS)}")
    parser.add_argument("--peakmark", type=Path, default=Path("build/prefix/bin/peakmark"))
    parser.add_argument("--keep", type=Path, help="keep results here, and use those that are here")
    options = parser.parse_args()
    if unknown := [name for name in options.subjects if name not in SUBJECTS]:
        parser.error(f"unknown subject '{unknown[0]}'; there are {', '.join(SUBJECTS)}")
    is_exact = True
    print("| variant | words | shapes: fitted, held out | peak | without a formula | off the model at large shapes |")
    print("|---|---|---|---|---|---:|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.subjects or SUBJECTS:
            subject = SUBJECTS[name]
            for variant in explain(options.peakmark, folder, name):
                release = variant["variant"].rpartition("/")[2].removeprefix("prototype-")
                peak = peak_function(variant)
                off = [peak(axes) - subject["model"](release, words, axes)
                       for axes in subject["large"] for words in word_sets(variant)]  # fmt: skip
                worst = max(off, key=abs)
                is_exact = is_exact and worst == 0
                words = " ".join(f"{axis}={','.join(words)}" for axis, words in variant["words"].items())
                named = ", ".join(unexplained_names(variant)) or "–"
                print(f"| `{variant['variant']}` | {words} | {variant['fitted']}, {variant['held_out']} | "
                      f"`{variant['peak'] or variant['partial_peak']}` | {named} | {worst:,} B |")  # fmt: skip
    return 0 if is_exact else 1


if __name__ == "__main__":
    sys.exit(main())
