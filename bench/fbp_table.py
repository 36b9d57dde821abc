#!/usr/bin/env python3
"""What filtered back-projection must reach, and what it does: one table (markdown).

    bench/fbp_table.py [BUILD FOLDER] [--run RUN]... [--times] [--nabu] [-o FILE]   default build/release, standard output

Peaks are those of suites/fbp-large.toml on `dry`, or of each RUN, on one GPU: the whole suite with --memory-only, and
the shapes small enough to be timed again without it, which tells times too. Times are told as shares of two limits:
4·lines·pixels bytes of interpolated reads at the bandwidth of the run's own reference copy (or --gb-s), and 5 flops an
interpolation at --gflop-s.
Estimates are held against them, and against what is recorded of the small shapes of suites/nightly.toml on the OpenCL
device, where there is one. --times runs bench/fbp_bench (minutes on a CPU), --nabu runs bench/peers/nabu_fbp.py
(minutes, and pip). A figure that nothing here tells is `not measured here`. No exit code judges the table.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fbp_lines import Line, estimate_lines, filter_line, largest_line, peak_lines, published_formula_line, stack_lines, table
from fbp_runs import WrongRun, observations_of, read_run, title_of, together
from fbp_times import MOST_TIME_OVER_NABU, MOST_TIME_OVER_WHOLE, Limits, bench_lines, nabu_lines, run_time_lines

ROOT = Path(__file__).resolve().parent.parent


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
        raise argparse.ArgumentTypeError(f"{text} is no rate; give a number above 0")
    return value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument(
        "--run",
        type=Path,
        action="append",
        default=[],
        help="a run, instead of suites/fbp-large.toml on dry; several are put together: peaks of all shapes, times of some",
    )
    parser.add_argument(
        "--gb-s", type=rate, help="the GPU's memory bandwidth, GB/s; default: what the run's reference copy moved"
    )
    parser.add_argument("--gflop-s", type=rate, help="its rate of f32 arithmetic, GFLOP/s; default: no such share")
    parser.add_argument("--times", action="store_true", help="run bench/fbp_bench")
    parser.add_argument("--nabu", action="store_true", help="run bench/peers/nabu_fbp.py")
    parser.add_argument("-o", "--output", type=Path, help="file to write instead of standard output")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    peakmark = build / "harness/cli/peakmark"
    if not peakmark.exists():
        parser.error(f"{build} has no {peakmark.relative_to(build)}: build it first, as ci/test release does")
    # PoCL's limits follow the memory that happens to be free.
    os.environ.setdefault("POCL_MEMORY_LIMIT", "4")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            large = {str(path): read_run(path) for path in arguments.run}
            if not large:
                large["dry"] = measured_run(peakmark, "fbp-large", ["--backend", "dry"], folder)
            observations = together(large)
        except WrongRun as error:
            parser.error(str(error))
        title = title_of(list(large.values()))
        device = next(iter(large.values()))["context"]["peakmark"]["device"]
        lines = peak_lines(observations) + [filter_line(observations)] + stack_lines(observations)
        lines += [largest_line(observations)] + estimate_lines(observations, title)
        devices = [device]
        if has_opencl(peakmark):
            small = measured_run(peakmark, "nightly", ["--backend", "opencl", "--filter", "^fbp/"], folder)
            devices.append(small["context"]["peakmark"]["device"])
            lines += estimate_lines(observations_of(small), "`nightly` recorded on OpenCL")
        else:
            lines.append(Line("estimate − `nightly` recorded on OpenCL"))
        lines.append(published_formula_line(observations))

        limits = Limits(arguments.gb_s, arguments.gflop_s)
        lines += run_time_lines(observations, limits) or [Line("time on a GPU")]
        if arguments.times:
            command = [build / "bench/fbp_bench", "--benchmark_filter=^n_a", "--benchmark_format=json"]
            lines += bench_lines(json.loads(run_command(command, "fbp_bench"))["benchmarks"])
        else:
            lines.append(Line("time over `whole`, OpenCL (--times)", {}, f"inplace ≤ {MOST_TIME_OVER_WHOLE:g}"))
        if arguments.nabu:
            command = [ROOT / "bench/peers/nabu_fbp.py", "--build", build, "--json", folder / "nabu.json"]
            run_command(command, "nabu_fbp.py")
            lines += nabu_lines(json.loads((folder / "nabu.json").read_text())["measured"])
        else:
            lines.append(Line("time over nabu's (--nabu)", {}, f"inplace ≤ {MOST_TIME_OVER_NABU:g}"))

    text = f"Peaks on {device}; small shapes and times on {devices[-1]}.\n\n" + table(lines)
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
