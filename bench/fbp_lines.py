"""Rows of the table of filtered back-projection that tell bytes: peaks and estimates."""

from dataclasses import dataclass, field

WAYS = ["whole", "inplace", "kept"]
UNKNOWN = "not measured here"
MOST_OVER_FLOOR = 1.01
MOST_BYTES = 3_943_000_000
LARGEST = (43200, 16384)
MOST_ESTIMATE_OFF = 0.001


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


def case_title(one: dict) -> str:
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
            modes = shapes.setdefault(case_title(one), {})
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
            figure = f"peak over floor, {case_title(one)}, {f'chunk {chunk}' if chunk else 'all at once'}"
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


def table(lines: list[Line]) -> str:
    head = ["| figure | `whole` | `inplace` | `kept` | must | holds |", "|---|---|---|---|---|---|"]
    return "\n".join(head + [line.text() for line in lines]) + "\n"
