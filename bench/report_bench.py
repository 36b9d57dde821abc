"""Measures how long `peakmark report` takes and how large its page is, for generated runs of many cases on several devices.

    PYTHONPATH=reports build/venv/bin/python bench/report_bench.py [--cases 2000] [--runs 365] [--devices 1] [--keep FOLDER]

Writes a history, its trends and the newest run in the formats of `peakmark history export` and `peakmark trends --json`, and
makes the report in a separate process. If there is a Chromium, it also measures how long the page takes to react, and counts
the errors on its console.

Three devices with 10,000 cases in 30 runs: --cases 10000 --runs 30 --devices 3
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

VARIANTS = 4
SHAPES = 50
DEVICE = "simulated GPU"


def _device(number: int) -> str:
    return DEVICE if number == 0 else f"{DEVICE} {number + 1}"


def _runs(count: int, device: str) -> list[dict]:
    begin = datetime(2026, 1, 1, 2)
    return [
        {
            "id": f"{i:08x}" if device == DEVICE else f"{i:08x}-{device[len(DEVICE) + 1:]}",
            "date": (begin + timedelta(days=i)).isoformat() + "Z",
            "commit": f"{i * 2654435761 % 2**32:08x}" * 5,
            "device": device,
            "backend": "cuda",
            "suite": "nightly",
            "branch": "main",
            "driver": "550.54" if i < count // 2 else "555.42",
            "platform": "CUDA",
            "build": "release",
            "host_name": "runner",
            "reference_copy_ns": 1e5,
            "reference_arithmetic_ns": 2e5,
            "environment": {"simulated": "bench/report_bench.py"},
        }
        for i in range(count)
    ]


def _shape(i: int) -> dict:
    return {"mode": ("edge", "wrap")[i % 2], "n": 20, "ny": 64 + 32 * (i // 2), "nx": 64 + 32 * (i // 2)}


def _case(number: int, run_count: int, random: np.random.Generator) -> tuple[dict, dict]:
    """Returns a line of the export, and the observation of the newest run."""
    operation, rest = divmod(number, VARIANTS * SHAPES)
    variant = f"operation{operation:02d}/variant{rest // SHAPES}"
    axes = _shape(rest % SHAPES)
    name = f"{variant}/cuda/mode:{axes['mode']}/n:20/ny:{axes['ny']}/nx:{axes['nx']}"
    floor = 2 * 4 * 20 * axes["ny"] * axes["nx"]
    peak = np.full(run_count, floor + 4 * axes["ny"] * axes["nx"] * (1 + rest // SHAPES))
    if number % 17 == 0:
        peak[run_count * 2 // 3 :] += 4096
    times = floor / 1e3 * (1 + 0.02 * random.standard_normal(run_count))
    if number % 23 == 0:
        times[run_count - run_count // 10 :] *= 1.08
    estimate = int(peak[0] * 1.02)
    missing = set(random.choice(run_count, run_count // 100, replace=False).tolist())
    dense = {
        "requested_peak_bytes": [int(value) for value in peak],
        "gpu_time_ns": [float(value) for value in times],
        "setup_bytes": [int(peak[0] - floor)] * run_count,
        "estimate_ratio": [float(value) / estimate for value in peak],
    }
    series = {key: [None if i in missing else value for i, value in enumerate(values)] for key, values in dense.items()}
    line = {
        "case": name, "variant": variant, "backend": "cuda", "device": DEVICE, "axes": axes, "series": series,
        "outcomes": ["crashed" if i in missing else "ok" for i in range(run_count)],
    }
    observation = {
        "case": name,
        "axes": axes,
        "outcome": "ok",
        "requested_peak_bytes": int(peak[-1]),
        "setup_bytes": int(peak[0] - floor),
        "input_bytes": floor // 2,
        "output_bytes": floor // 2,
        "at_peak": [
            {"name": "input", "kind": "device", "bytes": floor // 2},
            {"name": "output", "kind": "device", "bytes": floor // 2},
            {"name": "table", "kind": "device", "bytes": int(peak[-1]) - floor},
        ],
        "estimate": {"estimator": variant, "form": "direct", "bytes_estimated": estimate},
        "gpu_time_ns": {"median": times[-1], "min": 0.98 * times[-1], "max": 1.03 * times[-1]},
    }
    return line, observation


def _changes(number: int, name: str, before: int, runs: list[dict]) -> list[dict]:
    """`runs`: those of the device."""
    found = []
    where = {"device": runs[0]["device"], "backend": runs[0]["backend"]}
    if number % 17 == 0:
        at = runs[len(runs) * 2 // 3]
        found.append(
            {
                "case": name, **where, "metric": "requested_peak_bytes", "date": at["date"], "raised": at["date"],
                "run": at["id"], "relative": 4096 / before, "before": before, "after": before + 4096, "verdict": "regression",
                "state": "open",
                "allocations": [
                    {"name": "table", "kind": "device", "bytes": 4096, "base_count": 0, "new_count": 1}
                ],
            }
        )
    if number % 23 == 0:
        at = runs[len(runs) - len(runs) // 10]
        found.append(
            {
                "case": name, **where, "metric": "gpu_time_ns", "date": at["date"], "raised": at["date"], "run": at["id"],
                "relative": 0.08, "before": 1e5, "after": 1.08e5, "allocations": None,
                "verdict": "suspicious" if number % 2 else "regression", "state": None if number % 2 else "open",
            }
        )
    return found


def _states(changes: list[dict]) -> list[dict]:
    """Returns the worst change of each case that changed."""
    found: dict[tuple[str, str], str] = {}
    for one in changes:
        if found.get((one["case"], one["device"])) != "regression":
            found[one["case"], one["device"]] = one["verdict"]
    return [
        {"case": case, "device": device, "backend": "cuda", "state": state, "texts": []} for (case, device), state in found.items()
    ]


def _spread(line: dict, number: int, devices: int) -> dict:
    """Fills the runs of other devices, which are interleaved, with null."""

    def spread(values: list) -> list:
        return [one for value in values for one in [None] * number + [value] + [None] * (devices - number - 1)]

    return line | {
        "device": _device(number), "outcomes": spread(line["outcomes"]),
        "series": {metric: spread(values) for metric, values in line["series"].items()},
    }


def _trends(runs: list[list[dict]], changes: list[dict], cases: int) -> dict:
    half = len(runs[0]) // 2
    states = _states(changes)
    changed = len(states)
    return {
        "version": 1, "headline": f"{changed} case{' needs' if changed == 1 else 's need'} attention",
        "tally": f"{cases} cases: {cases - changed} pass", "cases": states, "changes": changes, "accepted": [], "runs": len(runs[0]),
        "environment_changes": [
            {
                "device": mine[half]["device"], "run": mine[half]["id"], "date": mine[half]["date"], "what": "driver",
                "before": "550.54", "after": "555.42",
            }
            for mine in runs
        ],
        "left_suite": [], "new": [], "not_enough_data": [],
    }


def _write_run(path: Path, device: str, lines: list[dict], observations: list[dict]) -> None:
    planned = [
        {"case": line["case"], "variant": line["variant"], "backend": "cuda", "axes": line["axes"], "window": [0.8, 1.0], "figure": None}
        for line in lines
    ]
    rows = [
        {"name": line["case"], "run_type": "aggregate", "peakmark": observation} for line, observation in zip(lines, observations)
    ]
    context = {"version": 1, "device": device, "backend": "cuda", "driver": "555.42", "device_is_cpu": False}
    run = {"context": {"peakmark": context | {"planned": planned}}, "benchmarks": rows}
    path.write_text(json.dumps(run), encoding="utf-8")


def write_inputs(folder: Path, cases: int, run_count: int, devices: int = 1, seed: int = 1) -> None:
    """Writes `series.jsonl`, `trends.json`, and `run.json` of the first device."""
    random = np.random.default_rng(seed)
    runs = [_runs(run_count, _device(number)) for number in range(devices)]
    changes = []
    with (folder / "series.jsonl").open("w", encoding="utf-8") as file:
        file.write(json.dumps({"runs": [run for at_once in zip(*runs) for run in at_once]}) + "\n")
        for device, mine in enumerate(runs):
            lines, observations = [], []
            for number in range(cases):
                line, observation = _case(number, run_count, random)
                file.write(json.dumps(_spread(line, device, devices)) + "\n")
                changes += _changes(number, line["case"], line["series"]["requested_peak_bytes"][0] or 2**20, mine)
                lines.append({key: line[key] for key in ("case", "variant", "axes")})
                observations.append(observation)
            if device == 0:
                _write_run(folder / "run.json", _device(device), lines, observations)
    (folder / "trends.json").write_text(json.dumps(_trends(runs, changes, cases * devices)), encoding="utf-8")


def measure(folder: Path) -> dict[str, float]:
    """Makes the report. Returns seconds, the peak memory of a process (MiB), and sizes of the pages (10⁶ bytes)."""
    output = folder / "report"
    begin = time.perf_counter()
    subprocess.run(
        [
            sys.executable, "-m", "peakmark_reports", "report", "-o", output, "--series", folder / "series.jsonl",
            "--trends", folder / "trends.json", "--run", folder / "run.json",
        ],
        check=True, stdout=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - begin
    files = [path for path in output.rglob("*") if path.is_file()]
    page = [path for path in files if path.suffix in (".html", ".js")]
    megabyte = 1e6
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "memory_mib": usage.ru_maxrss / 1024,
        "page_mb": (output / "index.html").stat().st_size / megabyte,
        "page_and_data_mb": sum(path.stat().st_size for path in page) / megabyte,
        "all_mb": sum(path.stat().st_size for path in files) / megabyte,
        "files": len(files),
    }


# Actions of a reader, as scripts; each ends when the next frame is drawn.
ACTIONS = {
    "filter_ms": "type('variant1 ny:640')",
    "clear_ms": "type('')",
    "sort_ms": "document.querySelector('#cases th[data-key=time] button').click()",
    "show_all_ms": "document.querySelector('#cases-more button:last-child').click()",
    "sort_all_ms": "document.querySelector('#cases th[data-key=peak] button').click()",
}
HELPERS = """
  const type = (words) => {
    const box = document.getElementById('words');
    box.value = words;
    box.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
"""


def use(page_file: Path, folder: Path) -> dict[str, float]:
    """Returns the ms of each action and the number of errors on the console; empty if there is no Chromium."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reports" / "tests"))
    from chromium import PROGRAM, Page

    if PROGRAM is None:
        return {}
    with Page(folder / "profile") as page:
        page.set_view(1200, 900, dark=False)
        begin = time.perf_counter()
        page.open(page_file)
        page.wait_for("document.querySelectorAll('#cases a.open').length > 0")
        figures = {"open_ms": 1000 * (time.perf_counter() - begin)}
        for name, action in ACTIONS.items():
            figures[name] = page.evaluate(
                f"(async () => {{ {HELPERS} const begin = performance.now(); {action}; await drawn(); "
                "return performance.now() - begin; })()"
            )
        begin = time.perf_counter()
        page.evaluate("document.getElementById('compare-form').requestSubmit()")
        page.wait_for("!document.getElementById('compare-result').hidden")
        figures["compare_ms"] = 1000 * (time.perf_counter() - begin)
        begin = time.perf_counter()
        page.evaluate("document.querySelector('#cases a.open').click()")
        page.wait_for("document.querySelectorAll('.detail .chart svg path').length > 1")
        figures["case_ms"] = 1000 * (time.perf_counter() - begin)
        return figures | {"console_errors": len(page.errors)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=365)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write inputs and report to FOLDER and keep them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_inputs(folder, options.cases, options.runs, options.devices)
        figures = measure(folder)
        figures |= use(folder / "report" / "index.html", folder)
    print(f"{options.cases} cases, {options.runs} runs, {options.devices} devices, {os.cpu_count()} cores")
    for name, value in figures.items():
        print(f"{name:>18}  {value:.2f}" if isinstance(value, float) else f"{name:>18}  {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
