"""Run files of the variants of fbp, for bench/fbp_table.py: read, held against each other, and put together."""

import json
from pathlib import Path

# Of the case that every run times first, in run files before 1.2: a device copy of 64 MiB, which are read and written.
REFERENCE_BYTES = 2 * (64 << 20)


class WrongRun(Exception):
    """A run that cannot be told of: the message says which file, why, and what to do."""


def read_run(path: Path) -> dict:
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
        run["context"]["peakmark"]["device"], run["benchmarks"]
    except OSError as error:
        raise WrongRun(f"{path}: {error.strerror}; give a run file of peakmark") from error
    except (ValueError, TypeError, KeyError) as error:
        raise WrongRun(f"{path} is no run file of peakmark: give what `peakmark run … -o RUN` wrote") from error
    return run


def observations_of(run: dict) -> list[dict]:
    """Of the cases of fbp that were measured, each with `way`, and what its run's reference copy moved a second."""
    rows = [row["peakmark"] for row in run["benchmarks"] if "peakmark" in row]
    reference = (run.get("context") or {}).get("peakmark", {}).get("reference") or {}
    reference_ns = reference.get("first_ns")
    copied = (reference.get("copy_bytes") or REFERENCE_BYTES) / reference_ns if reference_ns else None
    return [
        one | {"way": one["variant"].split("/")[1], "copied_gb_s": copied}
        for one in rows
        if one["variant"].startswith("fbp/") and one["outcome"] == "ok"
    ]


def together(runs: dict[str, dict]) -> list[dict]:
    """The observations of several runs of one device (by file): a case once, with its time where one has it."""
    devices = {(run["context"]["peakmark"]["backend"], run["context"]["peakmark"]["device"]) for run in runs.values()}
    if len(devices) > 1:
        names = " and ".join(sorted(f"{device} ({backend})" for backend, device in devices))
        raise WrongRun(f"{', '.join(runs)} were measured on {names}; give runs of one device")
    cases: dict[tuple, tuple[str, dict]] = {}
    for name, run in runs.items():
        for one in observations_of(run):
            key = (one["variant"], tuple(sorted(one["axes"].items())))
            if key not in cases:
                cases[key] = (name, one)
                continue
            first, known = cases[key]
            if known["requested_peak_bytes"] != one["requested_peak_bytes"]:
                raise WrongRun(
                    f"{one['variant']} {one['axes']} took {known['requested_peak_bytes']} bytes in {first} and "
                    f"{one['requested_peak_bytes']} in {name}; give runs of one commit"
                )
            if not known.get("gpu_time_ns"):
                cases[key] = (first, known | {key: one.get(key) for key in ("gpu_time_ns", "copied_gb_s")})
    return [one for _, one in cases.values()]


def title_of(runs: list[dict]) -> str:
    """Which suites, on which device, by their own words."""
    contexts = [run["context"]["peakmark"] for run in runs]
    suites = " and ".join(dict.fromkeys(f"`{one['suite']}`" for one in contexts))
    return f"{suites} on {contexts[0]['device']}"
