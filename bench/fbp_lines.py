"""Rows of the table of filtered back-projection (fbp_table.py): peaks and estimates in bytes, times."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

WAYS = ["whole", "inplace", "kept"]
UNKNOWN = "not measured here"
MAX_OVER_FLOOR = 1.01
MAX_BYTES = 3_943_000_000
LARGEST = (43200, 16384)
MAX_ESTIMATE_ERROR = 0.001
MAX_TIME_OVER_WHOLE = 1.05
MAX_TIME_OVER_NABU = 0.1
# One value between two columns: the fraction, the difference, its product, and two sums. Finding the columns is not
# included: `tiled` does that in integers, and a texture unit does it in hardware.
FLOPS_PER_INTERPOLATION = 5


@dataclass
class Line:
    """A row of the table: one figure for each way, its bound, and whether `inplace` (or every way) holds it."""

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


def case_title(one: dict) -> str:
    """Returns shape, stack and half-acquisition: all that bytes depend on besides mode and way."""
    axes = one["axes"]
    stack = f"{axes['n_z']} slices of " if axes["n_z"] > 1 else ""
    half = ", half-acquisition" if axes.get("half") else ""
    return f"{stack}({axes['n_a']}, {axes['w']}){half}"


def peak_lines(observations: list[dict]) -> list[Line]:
    """Returns the peak over the floor of single slices: one line for each shape and set of modes with equal bytes."""
    shapes: dict[str, dict[str, dict[str, float]]] = {}
    for one in observations:
        if one["axes"]["n_z"] == 1 and one["axes"]["filter"] == "ramlak":
            modes = shapes.setdefault(case_title(one), {})
            modes.setdefault(one["axes"]["mode"], {})[one["way"]] = over_floor(one)
    lines = []
    for title, modes in shapes.items():
        same: dict[tuple, list[str]] = {}
        for mode, ways in modes.items():
            same.setdefault(tuple(ways.items()), []).append(mode)
        for ways, names in same.items():
            values = dict(ways)
            holds = values["inplace"] <= MAX_OVER_FLOOR if "inplace" in values else None
            lines.append(
                Line(
                    f"peak over floor, {title}, {', '.join(names)}",
                    {way: f"{value:.4f}" for way, value in values.items()},
                    f"inplace ≤ {MAX_OVER_FLOOR:g}",
                    holds,
                )
            )
    return lines


def filter_line(observations: list[dict]) -> Line:
    """Returns the largest peak over the floor of all filters but ramlak."""
    others = [one for one in observations if one["axes"]["filter"] != "ramlak" and one["axes"]["n_z"] == 1]
    worst: dict[str, float] = {}
    for one in others:
        worst[one["way"]] = max(worst.get(one["way"], 0), over_floor(one))
    names = ", ".join(dict.fromkeys(one["axes"]["filter"] for one in others))
    return Line(
        f"the same, max of the other filters{f' ({names})' if names else ''}",
        {way: f"{value:.4f}" for way, value in worst.items()},
        f"inplace ≤ {MAX_OVER_FLOOR:g}",
        worst.get("inplace", 0) <= MAX_OVER_FLOOR,
    )


def stack_lines(observations: list[dict]) -> list[Line]:
    """Returns the peaks of stacks, reconstructed whole or in chunks of slices."""
    lines: dict[str, Line] = {}
    for one in observations:
        if one["axes"]["n_z"] > 1:
            chunk = one["axes"]["chunk"]
            figure = f"peak over floor, {case_title(one)}, {f'chunk {chunk}' if chunk else 'all at once'}"
            lines.setdefault(figure, Line(figure)).values[one["way"]] = f"{over_floor(one):.4f}"
    return list(lines.values())


def largest_line(observations: list[dict]) -> Line:
    """Returns the largest peak of any mode at the largest shape, in bytes."""
    peaks: dict[str, int] = {}
    for one in observations:
        if (one["axes"]["n_a"], one["axes"]["w"]) == LARGEST and one["axes"]["n_z"] == 1:
            peaks[one["way"]] = max(peaks.get(one["way"], 0), one["requested_peak_bytes"])
    return Line(
        f"requested peak at {LARGEST}, bytes, max of all modes",
        {way: str(value) for way, value in peaks.items()},
        f"inplace ≤ {MAX_BYTES}",
        peaks["inplace"] <= MAX_BYTES if "inplace" in peaks else None,
    )


def estimate_lines(observations: list[dict], where: str) -> list[Line]:
    """Returns the errors of the variants' estimators in bytes, and the cases with peak over estimate in 0.8 to 1."""
    off: dict[str, int] = {}
    share, inside, count = 0.0, {}, {}
    for one in observations:
        way, estimated, peak = one["way"], one["estimate"]["bytes_estimated"], one["requested_peak_bytes"]
        off[way] = max(off.get(way, 0), abs(estimated - peak))
        share = max(share, abs(estimated - peak) / peak)
        used, fit = one["estimate"]["slices_used"], one["estimate"]["slices_estimated"]
        # One of fewer than five slices is more than the width of the window: like `check`, judge the bytes only.
        slices = used < 5 or 0.8 * used <= fit <= used
        inside[way] = inside.get(way, 0) + (0.8 * estimated <= peak <= estimated and slices)
        count[way] = count.get(way, 0) + 1
    return [
        Line(
            f"estimate − {where}, max of all cases, bytes",
            {way: str(value) for way, value in off.items()},
            "0; ≤ 0.1 % with FFT plans",
            share <= MAX_ESTIMATE_ERROR,
        ),
        Line(
            f"cases inside the window 0.8:1.0, {where}",
            {way: f"{inside[way]} of {count[way]}" for way in count},
            "all",
            inside == count,
        ),
    ]


def published_formula_line(observations: list[dict]) -> Line:
    """Returns the peak over the estimate of nabu's published formula. The window of a good estimator is 0.8 to 1."""
    ratios: dict[str, list[float]] = {}
    for one in observations:
        if one["axes"]["n_z"] == 1 and not one["axes"].get("half"):
            for estimate in one.get("other_estimates") or []:
                if estimate["estimator"] == "fbp/nabu" and estimate["bytes_estimated"]:
                    ratios.setdefault(one["way"], []).append(one["requested_peak_bytes"] / estimate["bytes_estimated"])
    return Line(
        "peak over the estimate 4·(5·n_a·w + w²), one slice",
        {way: f"{min(values):.2f} to {max(values):.2f}" for way, values in ratios.items()},
        "outside 0.8 to 1",
        all(min(values) < 0.8 or max(values) > 1 for values in ratios.values()),
    )


def _lines(one: dict) -> int:
    """Returns the number of lines that are projected back: half-acquisition joins two to one."""
    return one["axes"]["n_a"] // 2 if one["axes"].get("half") else one["axes"]["n_a"]


@dataclass
class Limits:
    """Rates of the device that times are compared with; None if unknown."""

    gb_s: float | None = None  # None: use the rate of the run's reference copy
    gflop_s: float | None = None


def _share_line(figure: str, ways: dict[str, dict], work: Callable[[dict], float], rate: Callable[[dict], float]) -> Line:
    """Returns `work` / `rate`, the shortest possible time in ns, over the measured time."""
    shares = {}
    for way, one in ways.items():
        if rate(one):
            shares[way] = f"{work(one) / rate(one) / one['gpu_time_ns']['median']:.2f}"
    return Line(figure, shares)


def run_time_lines(observations: list[dict], limits: Limits = Limits()) -> list[Line]:
    """Returns times of runs on a GPU over those of `whole`, interpolated reads per second, and shares of `limits`."""
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
                    f"inplace ≤ {MAX_TIME_OVER_WHOLE:g}",
                    times["inplace"] / times["whole"] <= MAX_TIME_OVER_WHOLE,
                )
            )
        lines.append(
            Line(
                f"4·lines·pixels bytes of interpolated reads over the time, GB/s, {title}",
                {way: f"{_lines(one) * one['output_bytes'] / times[way]:.0f}" for way, one in ways.items()},
            )
        )
        copied = next((one["copied_gb_s"] for one in ways.values() if one.get("copied_gb_s")), None)
        gb_s, source = (limits.gb_s, "given") if limits.gb_s else (copied, "of the run's reference copy")
        if gb_s:
            lines.append(
                _share_line(
                    f"share of the limit by reads, at {gb_s:.0f} GB/s ({source}), {title}",
                    ways,
                    lambda one: _lines(one) * one["output_bytes"],
                    lambda one: limits.gb_s or one.get("copied_gb_s"),
                )
            )
        if limits.gflop_s:
            lines.append(
                _share_line(
                    f"share of the limit by {FLOPS_PER_INTERPOLATION} flops per interpolation, at {limits.gflop_s:.0f} "
                    f"GFLOP/s (given), {title}",
                    ways,
                    lambda one: FLOPS_PER_INTERPOLATION * _lines(one) * one["output_bytes"] / 4,
                    lambda one: limits.gflop_s,
                )
            )
    return lines


def bench_lines(benchmarks: list[dict]) -> list[Line]:
    """Returns the times that fbp_bench measured on the OpenCL device."""
    return [
        Line(
            f"time over `whole`, {one['name'].split('/iterations')[0].replace('/', ' ')}",
            {"whole": "1", "inplace": f"{one['ratio']:.3f}", "kept": f"{one['kept_ratio']:.3f}"},
            f"inplace ≤ {MAX_TIME_OVER_WHOLE:g}",
            one["ratio"] <= MAX_TIME_OVER_WHOLE,
        )
        for one in benchmarks
    ]


def nabu_lines(measured: list[dict]) -> list[Line]:
    """Returns times over those of nabu, and nabu's peaks."""
    lines: dict[tuple, Line] = {}
    for one in measured:
        key = (one["n_a"], one["w"], one["padding"])
        line = lines.setdefault(
            key, Line(f"time over nabu's, ({key[0]}, {key[1]}), {key[2]}", {}, f"inplace ≤ {MAX_TIME_OVER_NABU:g}")
        )
        if one["program"] == "nabu":
            peak = one["requested_peak_bytes"] / one["floor_bytes"]
            seconds = 1e-9 * statistics.median(one["times_ns"])
            line.figure += f" (nabu: {seconds:.3g} s, peak {peak:.2f} floors)"
        else:
            line.values[one["program"]] = f"{one['over_nabu']:.3f}"
            if one["program"] == "inplace":
                line.holds = one["over_nabu"] <= MAX_TIME_OVER_NABU
    return list(lines.values())


def table(lines: list[Line]) -> str:
    head = ["| figure | `whole` | `inplace` | `kept` | must | holds |", "|---|---|---|---|---|---|"]
    return "\n".join(head + [line.text() for line in lines]) + "\n"
