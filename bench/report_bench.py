"""Measures how long `peakmark report` takes and how large its page is, for generated runs of many cases.

    PYTHONPATH=reports build/venv/bin/python bench/report_bench.py [--cases 2000] [--runs 365] [--keep FOLDER]

Writes a history, its trends and the newest run in the formats of `peakmark history export` and `peakmark trends --json`, and
makes the report in a separate process. If there is a Chromium, it also measures how long the page takes to react, and counts
the errors on its console.
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


def _runs(count: int) -> list[dict]:
    begin = datetime(2026, 1, 1, 2)
    return [
        {
            "id": f"{i:08x}",
            "date": (begin + timedelta(days=i)).isoformat() + "Z",
            "commit": f"{i * 2654435761 % 2**32:08x}" * 5,
            "device": DEVICE,
            "backend": "cuda",
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
    found = []
    if number % 17 == 0:
        at = runs[len(runs) * 2 // 3]
        found.append(
            {
                "case": name, "metric": "requested_peak_bytes", "date": at["date"], "raised": at["date"],
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
                "case": name, "metric": "gpu_time_ns", "date": at["date"], "raised": at["date"], "run": at["id"],
                "relative": 0.08, "before": 1e5, "after": 1.08e5, "allocations": None,
                "verdict": "suspicious" if number % 2 else "regression", "state": None if number % 2 else "open",
            }
        )
    return found


def _states(changes: list[dict]) -> list[dict]:
    """Returns the worst change of each case that changed."""
    found: dict[str, str] = {}
    for one in changes:
        if found.get(one["case"]) != "regression":
            found[one["case"]] = one["verdict"]
    return [
        {"case": case, "device": DEVICE, "backend": "cuda", "state": state, "texts": []} for case, state in found.items()
    ]


def write_inputs(folder: Path, cases: int, run_count: int, seed: int = 1) -> None:
    """Writes `series.jsonl`, `trends.json` and `run.json`."""
    random = np.random.default_rng(seed)
    runs = _runs(run_count)
    planned, rows, changes = [], [], []
    with (folder / "series.jsonl").open("w", encoding="utf-8") as file:
        file.write(json.dumps({"runs": runs}) + "\n")
        for number in range(cases):
            line, observation = _case(number, run_count, random)
            file.write(json.dumps(line) + "\n")
            planned.append(
                {
                    "case": line["case"], "variant": line["variant"], "backend": "cuda", "axes": line["axes"],
                    "window": [0.8, 1.0], "figure": None,
                }
            )
            rows.append({"name": line["case"], "run_type": "aggregate", "peakmark": observation})
            changes += _changes(number, line["case"], line["series"]["requested_peak_bytes"][0] or 2**20, runs)
    context = {"version": 1, "device": DEVICE, "backend": "cuda", "driver": "555.42", "device_is_cpu": False}
    run = {"context": {"peakmark": context | {"planned": planned}}, "benchmarks": rows}
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    half = runs[run_count // 2]
    environment = {
        "device": DEVICE, "run": half["id"], "date": half["date"], "what": "driver", "before": "550.54",
        "after": "555.42",
    }
    states = _states(changes)
    changed = len(states)
    trends = {
        "version": 1, "headline": f"{changed} case{' needs' if changed == 1 else 's need'} attention",
        "tally": f"{cases} cases: {cases - changed} pass", "cases": states, "changes": changes, "accepted": [], "nights": run_count,
        "environment_changes": [environment], "vanished": [],
        "new": [], "not_enough_data": [],
    }
    (folder / "trends.json").write_text(json.dumps(trends), encoding="utf-8")


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
    "show_all_ms": "document.querySelector('#more button:last-child').click()",
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
        page.evaluate("document.querySelector('#cases a.open').click()")
        page.wait_for("document.querySelectorAll('.detail .chart svg path').length > 1")
        figures["case_ms"] = 1000 * (time.perf_counter() - begin)
        return figures | {"console_errors": len(page.errors)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=365)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write inputs and report to FOLDER and keep them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_inputs(folder, options.cases, options.runs)
        figures = measure(folder)
        figures |= use(folder / "report" / "index.html", folder)
    print(f"{options.cases} cases, {options.runs} runs, {os.cpu_count()} cores")
    for name, value in figures.items():
        print(f"{name:>18}  {value:.2f}" if isinstance(value, float) else f"{name:>18}  {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
