#!/usr/bin/env python3
"""Prints the targets of filtered back-projection and the measured figures as one table (markdown).

    bench/fbp_table.py [BUILD FOLDER] [--run RUN]... [--times] [--nabu] [-o FILE]   default build/release, standard output

Peaks are from suites/fbp-large.toml on `dry`, or from the RUNs of one GPU: for example one run of the whole suite with
--memory-only, and one with times of the shapes that are small enough. Times are printed as shares of two limits: 4·lines·pixels
bytes of interpolated reads at the bandwidth of the run's reference copy (or --gb-s), and 5 flops per interpolation at
--gflop-s. Estimates are compared with these peaks, and with recorded peaks of the small shapes of suites/nightly.toml if there
is an OpenCL device. --times runs bench/fbp_bench (minutes on a CPU), --nabu runs bench/peers/nabu_fbp.py (minutes, installs
with pip). Other figures are `not measured here`. The exit code does not depend on the figures.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fbp_lines import (
    MAX_TIME_OVER_NABU, MAX_TIME_OVER_WHOLE, Limits, Line, bench_lines, estimate_lines, filter_line, largest_line, nabu_lines,
    peak_lines, published_formula_line, run_time_lines, stack_lines, table,
)

ROOT = Path(__file__).resolve().parent.parent
# Run files before 1.2 do not have the size of the reference copy: 64 MiB, read and written.
REFERENCE_BYTES = 2 * (64 << 20)


class RunError(Exception):
    """A run file cannot be used."""


def read_run(path: Path) -> dict:
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        run["context"]["peakmark"]["device"], run["benchmarks"]
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}; give a run file of peakmark") from error
    except (ValueError, TypeError, KeyError) as error:
        raise RunError(f"not a run file of peakmark: {path}; give a file that `peakmark run … -o RUN` wrote") from error
    return run


def fbp_observations(run: dict) -> list[dict]:
    """Returns the measured cases of fbp, with `way` and `copied_gb_s`, the rate of the run's reference copy."""
    rows = [row["peakmark"] for row in run["benchmarks"] if "peakmark" in row]
    reference = (run.get("context") or {}).get("peakmark", {}).get("reference") or {}
    reference_ns = reference.get("first_ns")
    copied = (reference.get("copy_bytes") or REFERENCE_BYTES) / reference_ns if reference_ns else None
    return [
        one | {"way": one["variant"].split("/")[1], "copied_gb_s": copied}
        for one in rows
        if one["variant"].startswith("fbp/") and one["outcome"] == "ok"
    ]


def merged_observations(runs: dict[str, dict]) -> list[dict]:
    """Merges runs of one device, by file name: each case once, with its time if one of the runs has it."""
    devices = {(run["context"]["peakmark"]["backend"], run["context"]["peakmark"]["device"]) for run in runs.values()}
    if len(devices) > 1:
        names = " and ".join(sorted(f"{device} ({backend})" for backend, device in devices))
        raise RunError(f"{', '.join(runs)} were measured on {names}; give runs of one device")
    cases: dict[tuple, tuple[str, dict]] = {}
    for name, run in runs.items():
        for one in fbp_observations(run):
            key = (one["variant"], tuple(sorted(one["axes"].items())))
            if key not in cases:
                cases[key] = (name, one)
                continue
            first, known = cases[key]
            if known["requested_peak_bytes"] != one["requested_peak_bytes"]:
                raise RunError(
                    f"{one['variant']} {one['axes']} took {known['requested_peak_bytes']} bytes in {first} and "
                    f"{one['requested_peak_bytes']} in {name}; give runs of one commit"
                )
            if not known.get("gpu_time_ns"):
                cases[key] = (first, known | {key: one.get(key) for key in ("gpu_time_ns", "copied_gb_s")})
    return [one for _, one in cases.values()]


def runs_title(runs: list[dict]) -> str:
    """Returns the names of the suites and of the device."""
    contexts = [run["context"]["peakmark"] for run in runs]
    suites = " and ".join(dict.fromkeys(f"`{one['suite']}`" for one in contexts))
    return f"{suites} on {contexts[0]['device']}"


def run_command(command: list, what: str) -> str:
    answer = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if answer.returncode != 0:
        sys.exit(f"fbp_table: {what} ended with {answer.returncode}:\n{answer.stderr[-2000:]}")
    return answer.stdout


def measured_run(peakmark: Path, suite: str, options: list[str], folder: Path) -> dict:
    path = folder / f"{suite}.json"
    command = [peakmark, "run", ROOT / f"suites/{suite}.toml", "-o", path, "--memory-only", *options]
    run_command(command, " ".join(map(str, command)))
    return json.loads(path.read_text())


def has_opencl(peakmark: Path) -> bool:
    devices = json.loads(run_command([peakmark, "devices", "--json"], "peakmark devices"))["devices"]
    return any(device["backend"] == "opencl" for device in devices)


def rate(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"invalid rate: {text}; give a number above 0")
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument(
        "--run",
        type=Path,
        action="append",
        default=[],
        help="a run to use instead of suites/fbp-large.toml on dry; several are merged",
    )
    parser.add_argument(
        "--gb-s", type=rate, help="the GPU's memory bandwidth, GB/s; default: the rate of the run's reference copy"
    )
    parser.add_argument("--gflop-s", type=rate, help="the GPU's rate of f32 arithmetic, GFLOP/s; default: omit that share")
    parser.add_argument("--times", action="store_true", help="run bench/fbp_bench")
    parser.add_argument("--nabu", action="store_true", help="run bench/peers/nabu_fbp.py")
    parser.add_argument("-o", "--output", type=Path, help="file to write instead of standard output")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    peakmark = build / "harness/cli/peakmark"
    if not peakmark.exists():
        parser.error(f"{build} has no {peakmark.relative_to(build)}: build it first, as ci/test release does")
    # Without this, PoCL's limits depend on the memory that happens to be free.
    os.environ.setdefault("POCL_MEMORY_LIMIT", "4")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            large = {str(path): read_run(path) for path in arguments.run}
            if not large:
                large["dry"] = measured_run(peakmark, "fbp-large", ["--backend", "dry"], folder)
            observations = merged_observations(large)
        except RunError as error:
            parser.error(str(error))
        title = runs_title(list(large.values()))
        device = next(iter(large.values()))["context"]["peakmark"]["device"]
        lines = peak_lines(observations) + [filter_line(observations)] + stack_lines(observations)
        lines += [largest_line(observations)] + estimate_lines(observations, title)
        devices = [device]
        if has_opencl(peakmark):
            small = measured_run(peakmark, "nightly", ["--backend", "opencl", "--filter", "^fbp/"], folder)
            devices.append(small["context"]["peakmark"]["device"])
            lines += estimate_lines(fbp_observations(small), "`nightly` recorded on OpenCL")
        else:
            lines.append(Line("estimate − `nightly` recorded on OpenCL"))
        lines.append(published_formula_line(observations))

        limits = Limits(arguments.gb_s, arguments.gflop_s)
        lines += run_time_lines(observations, limits) or [Line("time on a GPU")]
        if arguments.times:
            command = [build / "bench/fbp_bench", "--benchmark_filter=^n_a", "--benchmark_format=json"]
            lines += bench_lines(json.loads(run_command(command, "fbp_bench"))["benchmarks"])
        else:
            lines.append(Line("time over `whole`, OpenCL (--times)", {}, f"inplace ≤ {MAX_TIME_OVER_WHOLE:g}"))
        if arguments.nabu:
            command = [ROOT / "bench/peers/nabu_fbp.py", "--build", build, "--json", folder / "nabu.json"]
            run_command(command, "nabu_fbp.py")
            lines += nabu_lines(json.loads((folder / "nabu.json").read_text())["measured"])
        else:
            lines.append(Line("time over nabu's (--nabu)", {}, f"inplace ≤ {MAX_TIME_OVER_NABU:g}"))

    text = f"Peaks on {device}; small shapes and times on {devices[-1]}.\n\n" + table(lines)
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
