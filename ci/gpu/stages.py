"""The stages of gpu-check with their planned seconds, in groups of at most 540 s."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import libraries
from lease import Lease, Skip, Wrong
from program_numbers import gtest_numbers, last_line, requested_numbers
from suites import fbp, large, smi, suite, times


@dataclass(frozen=True)
class Stage:
    name: str
    group: str
    seconds: int  # planned
    run: Callable[[Lease], None]


# ---- core ----


def environment(lease: Lease) -> None:
    """Writes environment.txt, records a skipped result for each missing library or tool, and sets the search paths."""
    names = (lease.bundle / "cuda-libraries").read_text(encoding="utf-8").split()
    found = libraries.find(names, lease.environment)
    text = [f"commit: {(lease.bundle / 'commit').read_text().strip()}", f"python: {sys.version.split()[0]} {sys.executable}"]
    text += [f"{name}: {path or 'not found'}" for name, path in found.files.items()]
    text += [f"searched: {folder}" for folder in found.searched]
    commands = (
        ["date", "-u", "+%Y-%m-%dT%H:%M:%SZ"],
        ["uname", "-srm"],
        ["nvcc", "--version"],
        ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,memory.used,compute_cap,clocks.sm,clocks.mem,"
         "persistence_mode,mig.mode.current", "--format=csv"],
        ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv"],
    )  # fmt: skip
    for command in commands:
        text.append(f"$ {' '.join(command)}\n{libraries.output_of(command, lease.environment) or '(no answer)'}")
    (lease.folder / "environment.txt").write_text("\n".join(text) + "\n", encoding="utf-8")
    for name, path in found.files.items():
        if path is None:
            roots = ", ".join(map(str, found.searched)) or "no toolkit, no pip package"
            lease.record(f"find-{name}", "skipped", f"{name} not found on the loader's path or in {roots}")
    bundled = [lease.bundle / "lib/peakmark", lease.bundle / "lib"]
    user = [path for path in [lease.environment.get("LD_LIBRARY_PATH")] if path]
    lease.environment["LD_LIBRARY_PATH"] = ":".join([*map(str, bundled), *user, *map(str, found.folders)])
    if sanitizer := found.files[libraries.SANITIZER]:
        lease.environment["PATH"] += f":{sanitizer.parent}"


def devices(lease: Lease) -> None:
    def numbers(text: str) -> str:
        cuda = [device for device in json.loads(text)["devices"] if device["backend"] == "cuda"]
        if not cuda:
            raise Wrong("peakmark lists no CUDA device")
        if cuda[0]["name"] != smi(lease, "name"):
            raise Wrong(f"peakmark reports {cuda[0]['name']}, nvidia-smi {smi(lease, 'name')}")
        facts = ", ".join(f"{key} {cuda[0][key]}" for key in ("name", "driver", "memory_bytes", "free_bytes"))
        return f"{facts}; nvidia-smi: {smi(lease, 'memory.total')} MiB"

    lease.run("devices", ["peakmark", "devices", "--json"], numbers, output=lease.runs / "devices.json")

    def doctor_numbers(text: str) -> str:
        report = json.loads(text)
        return f"{len(report['facts'])} facts, {len(report['findings'])} findings in runs/doctor.json: compare with environment.txt"

    command = ["peakmark", "doctor", "--json"]
    lease.run("doctor", command, doctor_numbers, output=lease.runs / "doctor.json", exit_codes=(0, 1), state="measured")


def tests(lease: Lease) -> None:
    programs = sorted((lease.bundle / "tests").glob("*"))
    if not programs:
        lease.record("tests", "skipped", "the bundle has no tests")
    for program in programs:
        lease.run(f"test-{program.name}", [program, "--gtest_brief=1"], gtest_numbers)


def compare_record(lease: Lease, check: str, command: list[str | Path], *, options: tuple[str, ...] = ()) -> bool:
    """Records a program that prints its own figures of its memory, and compares them. Records two results."""
    profile, known, shown = lease.folder / check, lease.runs / f"{check}.known.json", lease.runs / f"{check}.json"

    def known_numbers(text: str) -> str:
        return f"the program knows {json.loads(last_line(text))}"

    recorded = ["peakmark", "record", *options, "-o", profile, "--", *command]
    if not lease.run(f"{check}-program", recorded, known_numbers, output=known, needs=command[0], state="measured"):
        lease.record(check, "skipped", f"{check}-program: {lease.results[-1].detail}")
        return False
    expected = json.loads(last_line(known.read_text(encoding="utf-8")))
    numbers = requested_numbers(expected)
    return lease.run(check, ["peakmark", "show", "--json", profile], numbers, output=shown)


def recorder(lease: Lease) -> None:
    program = ["peakmark-every-allocation"]
    lease.environment["PEAKMARK_ACTIVITY_CHECK"] = "1"
    compare_record(lease, "record-known-bytes", program)
    del lease.environment["PEAKMARK_ACTIVITY_CHECK"]
    profile = lease.folder / "record-known-bytes"
    activity = sorted(lease.folder.glob("record-known-bytes*.activity*"))
    if activity:
        lease.run("record-callbacks-records", ["peakmark-compare-accounts", profile, activity[0]], last_line)
    else:
        lease.record("record-callbacks-records", "skipped", "there is no profile of CUPTI's memory records")
    compare_record(lease, "record-sync", program, options=("--sync",))
    budget = str(1 << 30)
    compare_record(lease, "record-budget", [*program, "fill", budget], options=("--budget", budget))
    for scenario in ("pool", "primary-release", "primary-reset", "handle"):
        compare_record(lease, f"contexts-{scenario}", ["peakmark-context-memory", scenario])


def cost(lease: Lease) -> None:
    def ns(path: Path) -> float:
        return float(json.loads(path.read_text(encoding="utf-8"))["ns_an_event"])

    def number(text: str) -> str:
        return f"{json.loads(text)['ns_an_event']} ns an event"

    program = ["peakmark-every-allocation", "loop", "100000"]
    plain, recorded, profile = lease.runs / "cost-plain.json", lease.runs / "cost-recorded.json", lease.folder / "cost"
    good = lease.run("cost-plain", program, number, output=plain, state="measured")
    command = ["peakmark", "record", "-o", profile, "--", *program]
    good = good and lease.run("cost-recorded", command, number, output=recorded, state="measured")
    for file in lease.folder.glob("cost*"):
        file.unlink()  # 200,000 events, of which only the time matters
    if good:
        # No bound, because it has never been measured.
        lease.record("cost-ns-an-event", "measured", f"{ns(recorded) - ns(plain):.0f} ns added to a call by the recorder")
    else:
        lease.record("cost-ns-an-event", "skipped", "cost-plain or cost-recorded failed")


def profiles(lease: Lease) -> None:
    """Records the small cases that become test data in suites/recorded/."""
    folder, expected = lease.folder / "profiles", lease.bundle / "suites/recorded/expected.toml"
    cases = len(re.findall(r"^file = ", expected.read_text(encoding="utf-8"), re.MULTILINE))

    def numbers(_text: str) -> str:
        found = len(list(folder.glob("*.profile")))
        if found != cases:
            raise Wrong(f"{found} of {cases} profiles were recorded")
        return f"{found} of {cases} profiles; recorded_profiles_test judges them once they are committed"

    changed = {**lease.environment, "PEAKMARK_COMMIT": (lease.bundle / "commit").read_text().strip()}
    command = [lease.bundle / "record-profiles", "cuda", folder, expected]
    lease.run("record-profiles", command, numbers, environment=changed, state="measured")


def smoke(lease: Lease) -> None:
    suite(lease, "smoke", "suites/smoke.toml")


def examples(lease: Lease) -> None:
    """Runs a user's worker with cudaMalloc, its own stream and CUB, and a Google Benchmark that reports its memory."""
    suite(lease, "cuda-sum", "examples/sum.toml", worker=("--worker", str(lease.bundle / "examples/sum")))
    # The benchmark allocates 1000 bytes, and 4096 and 3 in each of 4 iterations; it leaks 500.
    expected = {"max_bytes_used": 5099, "total_allocated_bytes": 17396, "net_heap_growth": 500}

    def numbers(text: str) -> str:
        row = next(row for row in json.loads(text)["benchmarks"] if "max_bytes_used" in row)
        found = {key: row[key] for key in expected}
        if found != expected:
            raise Wrong(f"reported {found}, allocated {expected}")
        return ", ".join(f"{key} {value}" for key, value in found.items())

    command = [lease.bundle / "examples/peakmark-cuda-benchmark", "--benchmark_format=json"]
    lease.run("google-benchmark", command, numbers, output=lease.runs / "google-benchmark.json")


def nightly(lease: Lease) -> None:
    suite(lease, "nightly", "suites/nightly.toml")
    times(lease, "nightly")


def sanitizer(lease: Lease) -> None:
    def numbers(text: str) -> str:
        if "Device not supported" in text:
            raise Skip("compute-sanitizer: Device not supported")
        summary = re.search(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard", text)
        work = gtest_numbers(text) or cases_of(text)
        if not summary or not work:
            return ""
        if int(summary[1] or summary[2]):
            raise Wrong(summary[0])
        return f"{summary[0]}s in {work}"

    def cases_of(text: str) -> str:
        rows = [line for line in text.splitlines() if re.search(r"/iterations:\d+", line)]
        rows = [line for line in rows if "ERROR OCCURRED: 'unsupported" not in line]
        if failed := [line for line in rows if "ERROR OCCURRED" in line]:
            raise Wrong(f"{len(failed)} of {len(rows)} cases failed: {failed[0]}")
        return f"{len(rows)} cases" if rows else ""

    # Some tests make calls that fail on purpose: too much memory, kernels without an image. With its default, `explicit`,
    # memcheck reports each failed call as an error. Our code checks the result of every call itself.
    no_api_errors = ["--report-api-errors", "no"]
    program = [lease.bundle / "tests/cuda_device_test", "--gtest_brief=1", "--gtest_filter=-*Beyond32*"]
    for tool, options in (("memcheck", no_api_errors), ("racecheck", []), ("initcheck", [])):
        command = [libraries.SANITIZER, "--tool", tool, *options, "--error-exitcode", "9", *program]
        lease.run(f"sanitizer-{tool}", command, numbers, needs=program[0])
    cases = lease.runs / "smoke-cases.txt"

    def listed(text: str) -> str:
        return f"{len(text.split())} cases" if text.split() else ""

    command = ["peakmark", "list", lease.bundle / "suites/smoke.toml", "--backend", "cuda"]
    if lease.run("sanitizer-cases", command, listed, output=cases, state="measured"):
        command = [libraries.SANITIZER, "--tool", "memcheck", *no_api_errors, "--error-exitcode", "9"]
        command += ["peakmark-bench", "--backend", "cuda", "--memory-only", "--cases", cases]
        lease.run("sanitizer-kernels", command, numbers, needs="peakmark-bench")


# ---- python ----


def python_environment(lease: Lease) -> dict[str, str]:
    """Returns the environment without our library folders, because Python packages bring their own CUDA libraries."""
    module = str(lease.bundle / "share/peakmark/python")
    paths = [module, os.environ.get("PYTHONPATH", "")]
    changes = {
        "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
        "PYTHONPATH": ":".join(filter(None, paths)),
        "PEAKMARK_LIBRARY_DIR": str(lease.bundle / "lib/peakmark"),
    }
    return {**lease.environment, **changes}


def python_memory(lease: Lease, package: str, modes: tuple[str, ...]) -> bool:
    """Records package_memory.py in each mode and compares the peak with the package's own figure.

    Returns False if the package is not installed.
    """
    lease.environment = python_environment(lease)
    script = Path(__file__).with_name("package_memory.py")
    for mode in modes:
        compare_record(lease, f"{package}-{mode}", [sys.executable, script, package, mode])
    return lease.results[-1].state != "skipped"


def cupy(lease: Lease) -> None:
    if not python_memory(lease, "cupy", ("no-pool", "pool")):
        return

    def numbers(text: str) -> str:
        rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines()[2:]]
        return "recorded − CuPy was asked for: " + ", ".join(f"{row[0]} {int(row[1]) - int(row[2])}" for row in rows)

    # Libraries that CuPy uses (cuFFT, cuBLAS) also allocate memory by themselves.
    command = [sys.executable, lease.bundle / "suites/clients/cupy_pool.py", "--python", sys.executable]
    lease.run("cupy-functions", command, numbers, output=lease.runs / "cupy-functions.md", state="measured")


def torch(lease: Lease) -> None:
    if not python_memory(lease, "torch", ("no-cache", "cache")):
        return
    known, shown, profile = lease.runs / "torch-unet.known.json", lease.runs / "torch-unet.json", lease.folder / "torch-unet"
    program = [sys.executable, lease.bundle / "suites/clients/torch_unet.py", "--step", "training", "4", "256", "256"]

    def reserved(text: str) -> str:
        return f"torch reserved {json.loads(last_line(text))['reserved']} bytes"

    def numbers(text: str) -> str:
        peak = json.loads(text)["requested"]["peak_bytes"]
        own = json.loads(last_line(known.read_text(encoding="utf-8")))["reserved"]
        if peak < own:
            raise Wrong(f"recorded {peak} bytes, torch reserved {own}")
        return f"recorded {peak} bytes, torch reserved {own}: its libraries took {peak - own}"

    command = ["peakmark", "record", "-o", profile, "--", *program]
    if lease.run("torch-unet-program", command, reserved, output=known, state="measured"):
        lease.run("torch-unet", ["peakmark", "show", "--json", profile], numbers, output=shown, state="measured")


def plugin(lease: Lease) -> None:
    script = Path(__file__).with_name("plugin_check.py")
    for package in ("cupy", "torch"):
        command = [sys.executable, script, package, lease.runs / f"plugin-{package}"]
        lease.run(f"plugin-{package}", command, last_line, environment=python_environment(lease))


# In the order of the rows of docs/gpu-status.md. Planned seconds are estimates, not measurements.
STAGES = (
    Stage("devices", "core", 15, devices),
    Stage("tests", "core", 150, tests),
    Stage("recorder", "core", 60, recorder),
    Stage("cost", "core", 20, cost),
    Stage("profiles", "core", 40, profiles),
    Stage("smoke", "core", 70, smoke),
    Stage("examples", "core", 45, examples),
    Stage("sanitizer", "core", 140, sanitizer),
    Stage("nightly", "sweep", 540, nightly),
    Stage("fbp-headline", "fbp", 130, fbp("fbp-headline", "^fbp/(inplace|kept)/cuda/n_a:43200/w:16384/n_z:1$", "--memory-only")),
    Stage("fbp-times", "fbp", 110, fbp("fbp-times", "n_a:(2880|7200)/w:[0-9]+/n_z:1(00)?(/angles:.*)?$")),
    Stage("fbp-peaks", "fbp", 80, fbp("fbp-peaks", "n_a:(2880|7200)/(?!.*mode:)", "--memory-only")),
    Stage("fbp-whole", "fbp", 110, fbp("fbp-whole", "^fbp/whole/cuda/n_a:43200/w:16384/n_z:1$", "--memory-only")),
    Stage("fbp-edge", "fbp", 110, fbp("fbp-edge", "fbp/inplace/.*mode:edge|n_a:(2880|7200)/.*mode:edge", "--memory-only")),
    Stage("large", "large", 540, large),
    Stage("cupy", "python", 150, cupy),
    Stage("torch", "python", 210, torch),
    Stage("plugin", "python", 180, plugin),
)
GROUPS = tuple(dict.fromkeys(stage.group for stage in STAGES))


def chosen(names: list[str]) -> list[Stage]:
    """Returns the stages that names of groups and stages select, each once. Raises KeyError for an unknown name."""
    known = {stage.name: [stage] for stage in STAGES}
    for group in GROUPS:
        known[group] = [stage for stage in STAGES if stage.group == group]
    return list(dict.fromkeys(stage for name in names for stage in known[name]))
