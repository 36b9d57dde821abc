"""Hand-made run files: a padding in two variants over growing shapes."""

from __future__ import annotations

import json
from pathlib import Path

SHAPES = [32, 64, 128, 256]
MODES = ["constant", "edge"]
VARIANTS = {"padding/old": 3, "padding/new": 1}  # setup bytes per element of the output


def observation(variant: str, mode: str, ny: int, *, time: bool = True, outcome: str = "ok") -> dict:
    inputs, outputs = 4 * 20 * ny * ny, 4 * 20 * 4 * ny * ny
    set_up = VARIANTS[variant] * 4 * ny * ny
    peak = inputs + outputs + set_up
    return {
        "case": f"{variant}/opencl/mode:{mode}/ny:{ny}/nx:{ny}",
        "axes": {"mode": mode, "n": 20, "ny": ny, "nx": ny, "dtype": "f32"},
        "outcome": outcome,
        "requested_peak_bytes": peak if outcome == "ok" else None,
        "setup_bytes": set_up,
        "input_bytes": inputs,
        "output_bytes": outputs,
        "at_peak": [
            {"name": "output", "kind": "buffer", "bytes": outputs},
            {"name": "input", "kind": "buffer", "bytes": inputs},
            {"name": f"table_{mode}" if variant == "padding/old" else "table", "kind": "buffer", "bytes": set_up - 16},
            {"name": "scalars", "kind": "buffer", "bytes": 12},
            {"name": "scalars", "kind": "buffer", "bytes": 4},
        ],
        "estimate": {"bytes_estimated": peak},
        "gpu_time_ns": {"median": 10.0 * ny * ny, "min": 9.0 * ny * ny, "max": 12.0 * ny * ny} if time else None,
    }


def run_document(observations: list[dict], figure: str | None = "growth") -> dict:
    planned = [
        {
            "case": one["case"],
            "variant": "/".join(one["case"].split("/")[:2]),
            "backend": "opencl",
            "axes": one["axes"],
            "window": [0.8, 1.0],
            "figure": figure,
        }
        for one in observations
    ]
    context = {
        "version": 1,
        "planned": planned,
        "device": "a device",
        "backend": "opencl",
        "driver": "1.0",
        "device_is_cpu": True,
    }
    rows = [{"name": one["case"], "run_type": "aggregate", "peakmark": one} for one in observations]
    return {"context": {"peakmark": context}, "benchmarks": [{"name": "x", "run_type": "iteration"}, *rows]}


def write_run(path: Path, observations: list[dict] | None = None, figure: str | None = "growth") -> Path:
    if observations is None:
        observations = [observation(v, m, ny) for v in VARIANTS for m in MODES for ny in SHAPES]
    path.write_text(json.dumps(run_document(observations, figure)), encoding="utf-8")
    return path
