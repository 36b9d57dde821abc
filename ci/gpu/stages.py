"""What gpu-check checks: stages with their planned seconds, in groups of at most 540 s."""

from __future__ import annotations

import collections
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import libraries
from lease import Lease, Skip, Wrong

MAX_GROUP_SECONDS = 540
# Bytes of a device that no case can have: contexts, modules, what the driver keeps.
DRIVER_BYTES = 2 << 30
NOTHING_MEASURED = 4  # exit code of `peakmark run`
SUITE_MARGIN = 15  # seconds in which `peakmark run` ends and its run file is judged


@dataclass(frozen=True)
class Stage:
    name: str
    group: str
    seconds: int  # planned
    run: Callable[[Lease], None]


# ---- numbers out of what programs print ----


def gtest_numbers(text: str) -> str:
    passed = re.search(r"\[  PASSED  \] (\d+) test", text)
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", text)
    if passed and int(passed[1]) > 0:
        return f"{passed[1]} tests passed, {skipped[1] if skipped else 0} skipped"
    if skipped:
        raise Skip(f"all of its {skipped[1]} tests were skipped")
    return ""


def last_line(text: str) -> str:
    """Of a program of ours that prints its numbers last and whose exit code judges them."""
    lines = [line for line in text.splitlines() if re.search(r"\d", line)]
    return lines[-1] if lines else ""


def requested_numbers(expected: dict) -> Callable[[str], str]:
    """Compares `peakmark show --json` with what the program itself knows: {"peak_bytes": …, …}."""

    def numbers(text: str) -> str:
        requested = json.loads(text)["requested"]
        wrong = [key for key in expected if requested[key] != expected[key]]
        if wrong:
            raise Wrong("; ".join(f"{key}: recorded {requested[key]}, the program says {expected[key]}" for key in wrong))
        return ", ".join(f"{key} {requested[key]}" for key in expected) + ": recorded = known"

    return numbers


def run_numbers(run_file: Path) -> str:
    """Outcomes of a run file."""
    run = json.loads(run_file.read_text(encoding="utf-8"))
    cases = [row["peakmark"] for row in run["benchmarks"] if row.get("peakmark")]
    outcomes = collections.Counter(case["outcome"] for case in cases)
    if not outcomes["ok"]:
        raise Wrong(f"no case is ok: {dict(outcomes)}")
    planned = len(run["context"]["peakmark"]["planned"])
    counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    return f"{len(cases)} of {planned} cases: {counts}"


# ---- core ----


def environment(lease: Lease) -> None:
    """environment.txt, and a skipped result for each library or tool that is not here. Sets the search paths."""
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
            lease.record(f"find-{name}", "skipped", f"{name} is not found: not on the loader's path, nor in {roots}")
    bundled = [lease.bundle / "lib/peakmark", lease.bundle / "lib"]
    user = [path for path in [lease.environment.get("LD_LIBRARY_PATH")] if path]
    lease.environment["LD_LIBRARY_PATH"] = ":".join([*map(str, bundled), *user, *map(str, found.folders)])
    if sanitizer := found.files[libraries.SANITIZER]:
        lease.environment["PATH"] += f":{sanitizer.parent}"


def smi(lease: Lease, field: str) -> str:
    """A fact of the first GPU."""
    command = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits"]
    lines = libraries.output_of(command, lease.environment).splitlines()
    return lines[0].strip() if lines else ""


def devices(lease: Lease) -> None:
    def numbers(text: str) -> str:
        cuda = [device for device in json.loads(text)["devices"] if device["backend"] == "cuda"]
        if not cuda:
            raise Wrong("peakmark lists no CUDA device")
        if cuda[0]["name"] != smi(lease, "name"):
            raise Wrong(f"peakmark says {cuda[0]['name']}, nvidia-smi {smi(lease, 'name')}")
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
    """Records a program that prints what it knows of its memory, and compares. Two results."""
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
        # No bound: nobody has measured it yet.
        lease.record("cost-ns-an-event", "measured", f"{ns(recorded) - ns(plain):.0f} ns added to a call by the recorder")
    else:
        lease.record("cost-ns-an-event", "skipped", "cost-plain or cost-recorded did not end well")


def profiles(lease: Lease) -> None:
    """Small cases whose profiles become test data under suites/recorded/."""
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


# ---- suites ----


def suite(lease: Lease, check: str, name: str, *options: str | Path, worker: tuple[str, ...] = ("--backend", "cuda")) -> bool:
    """Runs a suite on CUDA, judges the run with window 1:1. Results run-CHECK and check-CHECK."""
    run, seconds = lease.runs / f"run-{check}.json", max(10, int(lease.seconds_left()) - SUITE_MARGIN)
    command = ["peakmark", "run", lease.bundle / name, *worker, "--require", "cuda", "--deadline", str(seconds), *options]
    lease.run(f"run-{check}", [*command, "-o", run], lambda _text: run_numbers(run), skip_codes=(NOTHING_MEASURED,))
    if not run.is_file():
        lease.record(f"check-{check}", "skipped", "there is no run file")
        return False
    judged = judge_run(lease, check, run)
    context = json.loads(run.read_text(encoding="utf-8"))["context"]["peakmark"]
    if not context["complete"]:
        lease.record(f"rest-{check}", "skipped", f"not every case was measured in {seconds} s: {run_numbers(run)}")
    return judged


def judge_run(lease: Lease, check: str, run: Path) -> bool:
    verdicts_file = lease.runs / f"verdicts-{check}.json"
    command = ["peakmark", "check", run, "--window", "1:1", "--json"]
    command += ["--junit", lease.logs / f"junit-{check}.xml", "--markdown", lease.logs / f"summary-{check}.md"]

    def numbers(text: str) -> str:
        verdicts = json.loads(text)["verdicts"]
        # A case that the deadline left out has its own result.
        verdicts = [verdict for verdict in verdicts if (verdict["rule"], verdict["judgement"]) != ("present", "failed_measurement")]
        counts = collections.Counter(verdict["judgement"] for verdict in verdicts)
        wrong = [one for one in verdicts if one["judgement"] in ("fail", "failed_measurement")]
        # The device was chosen to hold every case that is run: check only warns of this outcome.
        wrong += [one for one in verdicts if one["rule"] == "outcome" and str(one["advice"]).startswith("out_of_memory")]
        if wrong:
            raise Wrong(f"{len(wrong)} verdicts fail; {wrong[0]['case']}: {wrong[0]['rule']}: {wrong[0]['advice']}")
        if not counts["pass"]:
            return ""
        windows = [one for one in verdicts if one["rule"] == "window_bytes"]
        total = ", ".join(f"{count} {judgement}" for judgement, count in counts.most_common())
        return f"verdicts: {total}; {len(windows)} estimates are 0 bytes off"

    good = lease.run(f"check-{check}", command, numbers, output=verdicts_file, exit_codes=(0, 1, 3))
    if good:
        verdicts = json.loads(verdicts_file.read_text(encoding="utf-8"))["verdicts"]
        missing = [one for one in verdicts if one["rule"] == "outcome" and str(one["advice"]).startswith("unsupported")]
        if missing:
            reason = f"{len(missing)} cases are unsupported here; {missing[0]['case']}: {missing[0]['advice']}"
            lease.record(f"unsupported-{check}", "skipped", reason)
    return good


def times(lease: Lease, check: str) -> None:
    run, verdicts = lease.runs / f"run-{check}.json", lease.runs / f"verdicts-{check}.json"
    if not run.is_file() or not verdicts.is_file():
        lease.record(f"times-{check}", "skipped", f"run-{check} left no verdicts")
        return
    lease.run(f"times-{check}", [sys.executable, Path(__file__).with_name("check_times.py"), run, verdicts], last_line)


def smoke(lease: Lease) -> None:
    suite(lease, "smoke", "suites/smoke.toml")


def examples(lease: Lease) -> None:
    """A user's worker with memory of cudaMalloc, a stream of its own and CUB; a Google Benchmark with its memory."""
    suite(lease, "cuda-sum", "examples/sum.toml", worker=("--worker", str(lease.bundle / "examples/sum")))
    # It allocates 1000 bytes, and 4096 and 3 in each of 4 iterations; 500 are left behind.
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

    # Tests ask for more memory than there is, and for kernels without an image, to see that the error is reported. With
    # its default, `explicit`, memcheck counts each such refused call as an error; our own code checks every call's result.
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


# ---- fbp: what bench/fbp_table.py puts together ----


def fbp(check: str, cases: str, *options: str) -> Callable[[Lease], None]:
    def stage(lease: Lease) -> None:
        # A slice of 43200 x 16384 is 1.2e13 interpolations, whatever its bytes: a case may take all the time there is.
        timeout = str(max(10, int(lease.seconds_left()) - SUITE_MARGIN))
        suite(lease, check, "suites/fbp-large.toml", "--timeout", timeout, "--filter", cases, *options)

    return stage


# ---- large ----


def large(lease: Lease) -> None:
    """Every case that the device can hold; the others are skipped, by what `dry` says that they need."""
    dry = lease.runs / "large-dry.json"
    suite_file = lease.bundle / "suites/large.toml"
    command = ["peakmark", "run", suite_file, "--backend", "dry", "-o", dry]
    if not lease.run("large-dry", command, lambda _text: run_numbers(dry), state="measured"):
        lease.record("run-large", "skipped", "large-dry did not end well: what fits is unknown")
        return
    total, used = int(smi(lease, "memory.total")) << 20, int(smi(lease, "memory.used")) << 20
    free = total - used - DRIVER_BYTES
    rows = json.loads(dry.read_text(encoding="utf-8"))["benchmarks"]
    peaks = {row["peakmark"]["case"]: row["peakmark"]["requested_peak_bytes"] for row in rows if row.get("peakmark")}
    too_large = {case: peak for case, peak in peaks.items() if peak is not None and peak > free}
    options = []
    if too_large:
        most = max(too_large, key=lambda case: too_large[case])
        reason = f"{len(too_large)} of {len(peaks)} cases need more than the free {free} bytes; {most}: {too_large[most]}"
        lease.record("large-memory", "skipped", reason)
        if len(too_large) == len(peaks):
            return
        fit = [re.escape(case.replace("/dry/", "/cuda/", 1)) for case in peaks if case not in too_large]
        options = ["--filter", f"^({'|'.join(fit)})$"]
    suite(lease, "large", "suites/large.toml", *options)
    times(lease, "large")


# ---- python ----


def python_environment(lease: Lease) -> dict[str, str]:
    """Python's packages bring their own libraries: ours are found by their paths."""
    module = str(lease.bundle / "share/peakmark/python")
    paths = [module, lease.environment.get("PYTHONPATH", "")]
    changes = {"PYTHONPATH": ":".join(filter(None, paths)), "PEAKMARK_LIBRARY_DIR": str(lease.bundle / "lib/peakmark")}
    return {**lease.environment, **changes}


def python_memory(lease: Lease, package: str, modes: tuple[str, ...]) -> bool:
    """Records gpu/PACKAGE_memory.py in each of its modes, and compares with what the package itself says.

    Returns whether the package is here.
    """
    lease.environment = python_environment(lease)
    script = Path(__file__).with_name(f"{package}_memory.py")
    for mode in modes:
        compare_record(lease, f"{package}-{mode}", [sys.executable, script, mode])
    return lease.results[-1].state != "skipped"


def cupy(lease: Lease) -> None:
    if not python_memory(lease, "cupy", ("no-pool", "pool")):
        return

    def numbers(text: str) -> str:
        rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines()[2:]]
        return "recorded − CuPy was asked for: " + ", ".join(f"{row[0]} {int(row[1]) - int(row[2])}" for row in rows)

    # Libraries under CuPy (cuFFT, cuBLAS) take memory that CuPy is not asked for.
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


# The rows of docs/gpu-status.md, the oldest first. Planned seconds are worked out, not measured.
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
    """The stages of groups and stages, each once. Throws KeyError with a name that is neither."""
    known = {stage.name: [stage] for stage in STAGES}
    for group in GROUPS:
        known[group] = [stage for stage in STAGES if stage.group == group]
    return list(dict.fromkeys(stage for name in names for stage in known[name]))
