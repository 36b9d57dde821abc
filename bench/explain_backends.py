#!/usr/bin/env python3
"""Explains each variant of a worker on OpenCL and on dry, and compares the formulas; prints one markdown table.

    bench/explain_backends.py [VARIANT]… [--peakmark build/prefix/bin/peakmark] [--timeout SECONDS]

filter/* and fbp/* compile kernels for each length of a line. With POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable PoCL does so in half the time.

Words have their defaults, so that each variant is explained once. `dry` and OpenCL record the same shapes if both accept them. On dry
`bench/shipped_formulas_test` compares formulas with the written estimators. Exit code 1 if a formula differs.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path


def describe(worker: Path) -> list[dict]:
    """Returns the variants of a worker."""
    output = subprocess.run([worker, "--describe"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return json.loads(output)["variants"]


def explained(options, variant: dict, backend: str) -> tuple[dict, float]:
    """Returns the entry of `variants` of `explain --json`, and the seconds."""
    words = [f"{axis['name']}={axis['default']}" for axis in variant["axes"] if isinstance(axis["default"], str)]
    start = time.monotonic()
    command = [options.peakmark, "explain", variant["name"], *words, "--backend", backend, "--worker", options.worker, "--json"]
    answer = subprocess.run(command, check=False, text=True, capture_output=True, timeout=options.timeout)
    if not answer.stdout:
        raise RuntimeError(answer.stderr.strip().splitlines()[-1])
    (entry,) = json.loads(answer.stdout)["variants"]
    return entry, time.monotonic() - start


def formulas(entry: dict) -> list[tuple]:
    rows = [(one["name"], one["phase"], one["count"], one["bytes"]) for one in entry["allocations"]]
    return [*rows, ("peak", "", "1", entry["peak"] or entry["partial_peak"])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help="default: all")
    parser.add_argument("--peakmark", type=Path, default=Path("build/prefix/bin/peakmark"))
    parser.add_argument("--worker", type=Path, help="default: peakmark-bench next to peakmark")
    parser.add_argument("--timeout", type=float, default=600, help="of each variant on each backend")
    options = parser.parse_args()
    options.worker = options.worker or options.peakmark.parent / "peakmark-bench"
    is_same = True
    print("| variant | shapes | off on dry | off on OpenCL | without a formula | formulas | seconds on OpenCL |")
    print("|---|---:|---:|---:|---|---|---:|")
    for variant in describe(options.worker):
        if options.variants and variant["name"] not in options.variants:
            continue
        try:
            dry, _ = explained(options, variant, "dry")
            opencl, seconds = explained(options, variant, "opencl")
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"| `{variant['name']}` | not explained: {error} | | | | | |")
            is_same = False
            continue
        different = sorted({one[0] for one in set(formulas(dry)) ^ set(formulas(opencl))})
        is_same = is_same and not different
        named = sorted({one["name"] for one in opencl["allocations"] if one["bytes"] is None or one["count"] is None})
        off = ["–" if one["worst_bytes_off"] is None else f"{one['worst_bytes_off']} B" for one in (dry, opencl)]
        shapes = opencl["fitted"] + opencl["held_out"]
        print(f"| `{variant['name']}` | {shapes} | {off[0]} | {off[1]} | {', '.join(named) or '–'} | "
              f"{'the same' if not different else 'differ: ' + ', '.join(different)} | {seconds:.1f} |", flush=True)  # fmt: skip
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
