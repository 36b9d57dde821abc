"""The result of a test as plain values, which workers of xdist can send, and its report."""

from __future__ import annotations

import json
from typing import Any, TextIO

from peakmark.pytest_plugin.limits import describe, describe_refused
from peakmark.sizes import exact_size, format_size
from peakmark.windows import Group, Refused, Window

VERSION = 1
MAX_GROUPS = 5


def window_result(window: Window, prefix: str = "") -> dict[str, Any]:
    """Returns the figures of a window. Removes `prefix`, the name of the test, from phases."""
    return {
        "name": window.name,
        "peak_bytes": window.peak_bytes,
        "live_at_start_bytes": window.live_at_start_bytes,
        "live_peak_bytes": window.live_peak_bytes,
        "left_bytes": window.left_bytes,
        "allocations": window.allocations,
        "failed_allocations": window.failed_allocations,
        "refused": [_refused(one, prefix) for one in window.refused()],
        "total_bytes": window.total_bytes,
        "pool_reserved_peak_bytes": window.pool_reserved_peak_bytes,
        "beside_the_peak": window.beside_the_peak,
        "by_kind": window.by_kind,
        "at_peak": [_group(one, prefix) for one in window.at_peak()],
        "left": [_group(one, prefix) for one in window.left()],
        "pools": [
            {"name": pool.name, "held_bytes": pool.held_bytes, "used_bytes": pool.used_bytes} for pool in window.pools
        ],
        "notes": list(window.notes),
    }


def _group(one: Group, prefix: str) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind,
        "phase": one.phase.removeprefix(prefix).removeprefix("/"),
        "site": one.site,
        "child": one.child,
        "bytes": one.bytes,
        "count": one.count,
        "largest_bytes": one.largest_bytes,
    }


def _refused(one: Refused, prefix: str) -> dict[str, Any]:
    return {
        "bytes": one.bytes,
        "kind": one.kind,
        "error": one.error,
        "error_name": one.error_name,
        "phase": one.phase.removeprefix(prefix).removeprefix("/"),
        "site": one.site,
        "child": one.child,
        "count": one.count,
    }


def write_json(file: TextIO, tests: dict[str, dict[str, Any]]) -> None:
    """Writes the tests in the order in which they ended."""
    document = {"version": VERSION, "tests": [{"test": test, **result} for test, result in tests.items()]}
    json.dump(document, file, indent=1)
    file.write("\n")


def report_lines(test: str, result: dict[str, Any]) -> list[str]:
    lines = [f"Device memory results for {test} at its peak", ""]
    if result["not_measured"] is not None:
        return [*lines, f"\tNot measured: {result['not_measured']}", ""]
    memory = result["memory"]
    lines.append(f"\tPeak device memory: {exact_size(memory['peak_bytes'])}")
    if memory["live_at_start_bytes"]:
        lines.append(
            f"\tLive before the test: {format_size(memory['live_at_start_bytes'])}; peak including it: "
            f"{exact_size(memory['live_peak_bytes'])}"
        )
    lines.append(f"\tAllocations: {memory['allocations']}, {format_size(memory['total_bytes'])} in all")
    if memory["failed_allocations"]:
        lines.append(f"\tRefused allocations: {memory['failed_allocations']}")
        lines += [f"\t\t- {describe_refused(Refused(**one))}" for one in memory["refused"][:MAX_GROUPS]]
    lines.append(f"\tLeft behind: {exact_size(memory['left_bytes'])}")
    if memory["pool_reserved_peak_bytes"] is not None:
        lines.append(f"\tReserved by pools of the driver: {exact_size(memory['pool_reserved_peak_bytes'])}")
    for pool in memory["pools"]:
        lines.append(
            f"\tHeld by {pool['name']}: {exact_size(pool['held_bytes'])}, of which {format_size(pool['used_bytes'])} in use"
        )
    for kind, size in memory["beside_the_peak"].items():
        lines.append(f"\tNot counted in the peak, {kind}: {format_size(size)}")
    if memory["at_peak"]:
        lines.append("\tLargest at the peak:")
        lines += [f"\t\t- {describe(Group(**one))}" for one in memory["at_peak"][:MAX_GROUPS]]
    for window in result["windows"]:
        lines.append(f"\tWindow {window['name']}: peak {exact_size(window['peak_bytes'])}, left {format_size(window['left_bytes'])}")
    lines += [f"\tNote: {note}" for note in memory["notes"]]
    return [*lines, ""]

