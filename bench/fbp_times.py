"""Rows of the table of filtered back-projection that tell times."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from fbp_lines import Line, case_title

MOST_TIME_OVER_WHOLE = 1.05
MOST_TIME_OVER_NABU = 0.1
# Of one value between two columns: the fraction, the difference, its product, and two sums. What finds the columns is
# left out: `tiled` does that in integers, and a texture unit by itself.
FLOPS_AN_INTERPOLATION = 5


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
            cases.setdefault(f"{case_title(one)}, {one['axes']['mode']}", {})[one["way"]] = one
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
