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
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fbp_runs import WrongRun, observations_of, read_run, title_of, together

ROOT = Path(__file__).resolve().parent.parent
WAYS = ["whole", "inplace", "kept"]
UNKNOWN = "not measured here"
MOST_OVER_FLOOR = 1.05
MOST_BYTES = 4_110_000_000
LARGEST = (43200, 16384)
MOST_TIME_OVER_WHOLE = 1.05
MOST_TIME_OVER_NABU = 0.1
MOST_ESTIMATE_OFF = 0.001
# Of one value between two columns: the fraction, the difference, its product, and two sums. What finds the columns is
# left out: `tiled` does that in integers, and a texture unit by itself.
FLOPS_AN_INTERPOLATION = 5


@dataclass
class Line:
    """A row: a figure of each way, as text, what `inplace` (or all of them) must reach, and whether it does."""

    figure: str
    values: dict[str, str] = field(default_factory=dict)
    must: str = "reported"
    holds: bool | None = None

    def text(self) -> str:
        values = [self.values.get(way, "") for way in WAYS] if self.values else [UNKNOWN] * len(WAYS)
        holds = {None: "", True: "yes", False: "**no**"}[self.holds if self.values else None]
        return f"| {self.figure} | {' | '.join(values)} | {self.must} | {holds} |"


def over_floor(one: dict) -> float:
    return one["requested_peak_bytes"] / (one["input_bytes"] + one["output_bytes"])


def _title(one: dict) -> str:
    """Shape, stack and half-acquisition: what the bytes depend on beside mode and way."""
    axes = one["axes"]
    stack = f"{axes['n_z']} slices of " if axes["n_z"] > 1 else ""
    half = ", half-acquisition" if axes.get("half") else ""
    return f"{stack}({axes['n_a']}, {axes['w']}){half}"


def peak_lines(observations: list[dict]) -> list[Line]:
    """The peak over the floor: one slice, not by chunks, a line a shape and a set of modes with the same bytes."""
    shapes: dict[str, dict[str, dict[str, float]]] = {}
    for one in observations:
        if one["axes"]["n_z"] == 1 and one["axes"]["filter"] == "ramlak":
            modes = shapes.setdefault(_title(one), {})
            modes.setdefault(one["axes"]["mode"], {})[one["way"]] = over_floor(one)
    lines = []
    for title, modes in shapes.items():
        same: dict[tuple, list[str]] = {}
        for mode, ways in modes.items():
            same.setdefault(tuple(ways.items()), []).append(mode)
        for ways, names in same.items():
            values = dict(ways)
            holds = values["inplace"] <= MOST_OVER_FLOOR if "inplace" in values else None
            lines.append(
                Line(
                    f"peak over floor, {title}, {', '.join(names)}",
                    {way: f"{value:.4f}" for way, value in values.items()},
                    f"inplace ≤ {MOST_OVER_FLOOR:g}",
                    holds,
                )
            )
    return lines


def filter_line(observations: list[dict]) -> Line:
    """The other filters take what ramlak takes."""
    others = [one for one in observations if one["axes"]["filter"] != "ramlak" and one["axes"]["n_z"] == 1]
    worst: dict[str, float] = {}
    for one in others:
        worst[one["way"]] = max(worst.get(one["way"], 0), over_floor(one))
    names = ", ".join(dict.fromkeys(one["axes"]["filter"] for one in others))
    return Line(
        f"the same, most of the other filters{f' ({names})' if names else ''}",
        {way: f"{value:.4f}" for way, value in worst.items()},
        f"inplace ≤ {MOST_OVER_FLOOR:g}",
        worst.get("inplace", 0) <= MOST_OVER_FLOOR,
    )


def stack_lines(observations: list[dict]) -> list[Line]:
    """Stacks: all slices worked on at once, or so many at a time."""
    lines: dict[str, Line] = {}
    for one in observations:
        if one["axes"]["n_z"] > 1:
            chunk = one["axes"]["chunk"]
            figure = f"peak over floor, {_title(one)}, {f'chunk {chunk}' if chunk else 'all at once'}"
            lines.setdefault(figure, Line(figure)).values[one["way"]] = f"{over_floor(one):.4f}"
    return list(lines.values())


def largest_line(observations: list[dict]) -> Line:
    """The greatest peak of any mode at the largest shape, in bytes."""
    most: dict[str, int] = {}
    for one in observations:
        if (one["axes"]["n_a"], one["axes"]["w"]) == LARGEST and one["axes"]["n_z"] == 1:
            most[one["way"]] = max(most.get(one["way"], 0), one["requested_peak_bytes"])
    return Line(
        f"requested peak at {LARGEST}, bytes, most of all modes",
        {way: str(value) for way, value in most.items()},
        f"inplace ≤ {MOST_BYTES}",
        most["inplace"] <= MOST_BYTES if "inplace" in most else None,
    )


def estimate_lines(observations: list[dict], where: str) -> list[Line]:
    """The variant's own estimator: bytes off, and cases inside 0.8 to 1 of peak over estimate."""
    off: dict[str, int] = {}
    share, inside, count = 0.0, {}, {}
    for one in observations:
        way, estimated, peak = one["way"], one["estimate"]["bytes_estimated"], one["requested_peak_bytes"]
        off[way] = max(off.get(way, 0), abs(estimated - peak))
        share = max(share, abs(estimated - peak) / peak)
        used, fit = one["estimate"]["slices_used"], one["estimate"]["slices_estimated"]
        # Below five slices one slice is more than the window is wide: bytes alone are judged, as by `check`.
        slices = used < 5 or 0.8 * used <= fit <= used
        inside[way] = inside.get(way, 0) + (0.8 * estimated <= peak <= estimated and slices)
        count[way] = count.get(way, 0) + 1
    return [
        Line(
            f"estimate − {where}, most of all cases, bytes",
            {way: str(value) for way, value in off.items()},
            "0; ≤ 0.1 % with FFT plans",
            share <= MOST_ESTIMATE_OFF,
        ),
        Line(
            f"cases inside the window 0.8:1.0, {where}",
            {way: f"{inside[way]} of {count[way]}" for way in count},
            "all",
            inside == count,
        ),
    ]


def published_formula_line(observations: list[dict]) -> Line:
    """nabu's published formula: peak over estimate, which the window wants in 0.8 to 1."""
    ratios: dict[str, list[float]] = {}
    for one in observations:
        if one["axes"]["n_z"] == 1 and not one["axes"].get("half"):
            for estimate in one.get("other_estimates") or []:
                if estimate["estimator"] == "fbp/nabu" and estimate["bytes_estimated"]:
                    ratios.setdefault(one["way"], []).append(one["requested_peak_bytes"] / estimate["bytes_estimated"])
    return Line(
        "peak over the estimate 4·(5·n_a·w + w²), one slice",
        {way: f"{min(values):.2f} to {max(values):.2f}" for way, values in ratios.items()},
        "seen to leave 0.8 to 1",
        all(min(values) < 0.8 or max(values) > 1 for values in ratios.values()),
    )


def _lines(one: dict) -> int:
    """Lines that are projected back: with half-acquisition two are joined to one."""
    return one["axes"]["n_a"] // 2 if one["axes"].get("half") else one["axes"]["n_a"]


@dataclass
class Limits:
    """Of the device: what the times are held against. Rates nobody measured or gave are None, and not told."""

    gb_s: float | None = None  # None: what the run's own reference copy moved
    gflop_s: float | None = None


def _share_line(figure: str, ways: dict[str, dict], work: Callable[[dict], float], rate: Callable[[dict], float]) -> Line:
    """The least time that `work` takes at `rate` (both in the same units and ns), over the time that was taken."""
    shares = {}
    for way, one in ways.items():
        if rate(one):
            shares[way] = f"{work(one) / rate(one) / one['gpu_time_ns']['median']:.2f}"
    return Line(figure, shares)


def run_time_lines(observations: list[dict], limits: Limits = Limits()) -> list[Line]:
    """Times of runs on a GPU: over `whole`, interpolated reads a second, and the shares of the device's limits."""
    cases: dict[str, dict[str, dict]] = {}
    for one in observations:
        if one.get("gpu_time_ns") and one["axes"]["n_z"] == 1 and one["axes"]["filter"] == "ramlak":
            cases.setdefault(f"{_title(one)}, {one['axes']['mode']}", {})[one["way"]] = one
    lines = []
    for title, ways in cases.items():
        times = {way: one["gpu_time_ns"]["median"] for way, one in ways.items()}
        if "whole" in times and "inplace" in times:
            lines.append(
                Line(
                    f"time over `whole`, {title}",
                    {way: f"{time / times['whole']:.3f}" for way, time in times.items()},
                    f"inplace ≤ {MOST_TIME_OVER_WHOLE:g}",
                    times["inplace"] / times["whole"] <= MOST_TIME_OVER_WHOLE,
                )
            )
        lines.append(
            Line(
                f"4·lines·pixels bytes of interpolated reads over the time, GB/s, {title}",
                {way: f"{_lines(one) * one['output_bytes'] / times[way]:.0f}" for way, one in ways.items()},
            )
        )
        copied = next((one["copied_gb_s"] for one in ways.values() if one.get("copied_gb_s")), None)
        gb_s, whence = (limits.gb_s, "given") if limits.gb_s else (copied, "of the run's reference copy")
        if gb_s:
            lines.append(
                _share_line(
                    f"share of the limit by reads, at {gb_s:.0f} GB/s ({whence}), {title}",
                    ways,
                    lambda one: _lines(one) * one["output_bytes"],
                    lambda one: limits.gb_s or one.get("copied_gb_s"),
                )
            )
        if limits.gflop_s:
            lines.append(
                _share_line(
                    f"share of the limit by {FLOPS_AN_INTERPOLATION} flops an interpolation, at {limits.gflop_s:.0f} "
                    f"GFLOP/s (given), {title}",
                    ways,
                    lambda one: FLOPS_AN_INTERPOLATION * _lines(one) * one["output_bytes"] / 4,
                    lambda one: limits.gflop_s,
                )
            )
    return lines


def bench_lines(benchmarks: list[dict]) -> list[Line]:
    """Times that fbp_bench took on the OpenCL device."""
    return [
        Line(
            f"time over `whole`, {one['name'].split('/iterations')[0].replace('/', ' ')}",
            {"whole": "1", "inplace": f"{one['ratio']:.3f}", "kept": f"{one['kept_ratio']:.3f}"},
            f"inplace ≤ {MOST_TIME_OVER_WHOLE:g}",
            one["ratio"] <= MOST_TIME_OVER_WHOLE,
        )
        for one in benchmarks
    ]


def nabu_lines(measured: list[dict]) -> list[Line]:
    """Times beside nabu's, and nabu's own peaks."""
    lines: dict[tuple, Line] = {}
    for one in measured:
        key = (one["n_a"], one["w"], one["padding"])
        line = lines.setdefault(
            key, Line(f"time over nabu's, ({key[0]}, {key[1]}), {key[2]}", {}, f"inplace ≤ {MOST_TIME_OVER_NABU:g}")
        )
        if one["program"] == "nabu":
            peak = one["requested_peak_bytes"] / one["floor_bytes"]
            seconds = 1e-9 * statistics.median(one["times_ns"])
            line.figure += f" (nabu: {seconds:.3g} s, peak {peak:.2f} floors)"
        else:
            line.values[one["program"]] = f"{one['over_nabu']:.3f}"
            if one["program"] == "inplace":
                line.holds = one["over_nabu"] <= MOST_TIME_OVER_NABU
    return list(lines.values())


def table(lines: list[Line]) -> str:
    head = ["| figure | `whole` | `inplace` | `kept` | must | holds |", "|---|---|---|---|---|---|"]
    return "\n".join(head + [line.text() for line in lines]) + "\n"


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
            command = [build / "bench/fbp_bench", "--benchmark_format=json"]
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
