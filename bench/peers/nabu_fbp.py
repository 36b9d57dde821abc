#!/usr/bin/env python3
"""Compares peakmark's filtered back-projection with nabu's on one OpenCL device and prints one table (markdown).

    bench/peers/nabu_fbp.py [--build build/release] [--shapes 512x512,1440x1024] [--modes zeros,edges] [--rounds 5]
                            [-o FILE] [--json FILE]

Installs nabu from PyPI with suites/clients/make-environments. Both programs get the same sinogram (noise), angles, axis, padding
and filter, and work from host memory to host memory. First, each program runs one call under `peakmark record`, and the
results are compared. Then all programs run, after one warm-up call, one call each per round, interleaved. A ratio is the median over the
rounds of the ratio within a round. Exit code 3 if results differ; it does not depend on times.
"""

import argparse
import ctypes.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MAKE_ENVIRONMENTS = ROOT / "suites/clients/make-environments"
ENVIRONMENTS = Path(os.environ.get("PEAKMARK_ENVIRONMENTS") or ROOT / "build/environments").absolute()
ENVIRONMENT = ENVIRONMENTS / "nabu-2026.1.2"
WAYS = ["whole", "inplace"]
# nabu's name of a padding mode: numpy's.
MODES = {"zeros": "constant", "edges": "edge"}
SEED = 20260131
# Both sum n_a single-precision terms, in different order and at differently rounded coordinates.
MAX_DIFFERENCE = 1e-3
EXIT_USAGE, EXIT_MEASUREMENT = 2, 3


class PeerError(Exception):
    """A program failed."""


def make_environment() -> Path:
    """Returns the Python of nabu's environment. Exits if it cannot be made."""
    environment = dict(os.environ) | {"PEAKMARK_ENVIRONMENTS": str(ENVIRONMENTS)}
    made = subprocess.run([sys.executable, MAKE_ENVIRONMENTS, ENVIRONMENT.name], env=environment, check=False)
    if made.returncode != 0:
        sys.exit(made.returncode)
    return ENVIRONMENT / "bin/python"


@dataclass(frozen=True)
class Task:
    """The reconstruction that every program computes."""

    n_a: int
    w: int
    mode: str  # a key of MODES
    sinogram: Path

    @property
    def floor(self) -> int:
        """Bytes of sinogram and slice."""
        return 4 * self.n_a * self.w + 4 * self.w**2


@dataclass
class Program:
    """A program that is compared."""

    name: str
    command: list[str]
    environment: dict[str, str]
    times_ns: list[int] = field(default_factory=list)


def programs_for(task: Task, build: Path, device: str) -> list[Program]:
    shape = [str(task.n_a), str(task.w)]
    host = str(build / "bench/fbp_host")
    # pyvkfft is linked to the system's OpenCL loader, pyopencl ships another. The recorder sees the tables of the FFT
    # only if both use the same loader.
    loader = ctypes.util.find_library("OpenCL")
    preload = {"LD_PRELOAD": loader} if loader else {}
    nabu = [sys.executable, str(HERE / "nabu_host.py"), *shape, task.mode, str(task.sinogram), device]
    return [
        Program("nabu", nabu, dict(os.environ) | preload),
        *(
            Program(way, [host, way, *shape, MODES[task.mode], str(task.sinogram)], dict(os.environ))
            for way in WAYS
        ),
    ]


class Running:
    """A running program. `about` is its first answer."""

    def __init__(self, program: Program, prefix: list[str], log: Path):
        self.program, self.log = program, log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [*prefix, *program.command], env=program.environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
            )
        self.about = self._answer()

    def _answer(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            tail = self.log.read_text(errors="replace")[-2000:]
            raise PeerError(f"{' '.join(self.program.command)} ended with {code}:\n{tail}")
        return json.loads(line)

    def ask(self, line: str) -> dict:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        self.process.stdin.close()
        if self.process.wait() != 0:
            tail = self.log.read_text(errors="replace")[-2000:]
            raise PeerError(f"{self.program.name} ended with {self.process.returncode}:\n{tail}")


def recorded_call(program: Program, peakmark: Path, folder: Path) -> tuple[dict, dict]:
    """Records one call. Returns the output of `peakmark show --json` and the program's first answer; saves its slice in `folder`."""
    profile = folder / f"{program.name}.profile"
    running = Running(program, [str(peakmark), "record", "-o", str(profile), "--"], folder / f"{program.name}.log")
    running.ask("call")
    running.ask(f"save {folder / program.name}.f32")
    running.end()
    shown = subprocess.run([peakmark, "show", profile, "--json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    summary = json.loads(shown)
    if not summary["complete"] or summary["lost_events"]:
        raise PeerError(f"incomplete recording of {program.name}: {profile}")
    return summary, running.about


def difference(one, other) -> float:
    """Returns the max difference of two slices within a radius of 0.48 of the width, relative to the max absolute value."""
    import numpy

    w = one.shape[0]
    from_middle = (numpy.arange(w) - (w - 1) / 2) ** 2
    inside = from_middle[:, None] + from_middle <= (0.48 * w) ** 2
    return float(numpy.abs(one[inside].astype(float) - other[inside]).max() / numpy.abs(other[inside]).max())


def seconds(times_ns: list[int]) -> str:
    low, middle, high = (1e-9 * value for value in (min(times_ns), statistics.median(times_ns), max(times_ns)))
    return f"{middle:.3g} s ({low:.3g} to {high:.3g})"


def measure(task: Task, build: Path, rounds: int, device: str, folder: Path) -> tuple[list[dict], dict]:
    """Returns one entry per program for `--json`, and nabu's first answer."""
    import numpy

    programs = programs_for(task, build, device)
    recordings, about = {}, {}
    for program in programs:
        recordings[program.name], about[program.name] = recorded_call(program, build / "harness/cli/peakmark", folder)
    if len({one["device"] for one in about.values()}) != 1:
        raise PeerError(f"programs use different devices: {about}")
    slices = {
        program.name: numpy.fromfile(folder / f"{program.name}.f32", dtype=numpy.float32).reshape(task.w, task.w)
        for program in programs
    }

    running = [Running(program, [], folder / f"{program.name}.log") for program in programs]
    for one in running:
        one.ask("call")
    for _round in range(rounds):
        for one in running:
            one.program.times_ns.append(one.ask("call")["ns"])
    for one in running:
        one.end()

    nabu = programs[0]
    measured = [
        {
            "n_a": task.n_a,
            "w": task.w,
            "padding": task.mode,
            "program": program.name,
            "times_ns": program.times_ns,
            "over_nabu": statistics.median(own / peer for own, peer in zip(program.times_ns, nabu.times_ns)),
            "requested_peak_bytes": recordings[program.name]["requested"]["peak_bytes"],
            "floor_bytes": task.floor,
            "difference": difference(slices[program.name], slices["nabu"]),
        }
        for program in programs
    ]
    return measured, about["nabu"]


def row_text(one: dict) -> str:
    nabu = one["program"] == "nabu"
    cells = [
        f"{one['n_a']} × {one['w']}",
        one["padding"],
        "nabu" if nabu else f"fbp/{one['program']}",
        seconds(one["times_ns"]),
        "1" if nabu else f"{one['over_nabu']:.3f}",
        str(one["requested_peak_bytes"]),
        f"{one['requested_peak_bytes'] / one['floor_bytes']:.3f}",
        "" if nabu else f"{one['difference']:.1e}",
    ]
    return f"| {' | '.join(cells)} |"


def write_sinogram(n_a: int, w: int, path: Path) -> None:
    import numpy

    numpy.random.default_rng(SEED).random((n_a, w), dtype=numpy.float32).tofile(path)


def device_name(build: Path, folder: Path) -> str:
    """Returns the name of the device that peakmark chooses."""
    write_sinogram(4, 4, folder / "small")
    command = [str(build / "bench/fbp_host"), "whole", "4", "4", "constant", str(folder / "small")]
    running = Running(Program("fbp_host", command, dict(os.environ)), [], folder / "fbp_host.log")
    running.end()
    return running.about["device"]


def header(nabu: dict, rounds: int, load: float) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in nabu["versions"].items())
    return [
        f"{nabu['device']} ({nabu['platform']}, driver {nabu['driver']}), {os.cpu_count()} cores, load average"
        f" {load:.1f} before; {versions}; nabu with{'' if nabu['textures'] else 'out'} textures. One sinogram of noise"
        f" (seed {SEED}), n_a equal steps of half a turn, axis in the middle, ramlak, host to host. Times: median"
        f" (min to max) of {rounds} calls after a warm-up call, programs interleaved. Floor: 4·n_a·w + 4·w² bytes."
        " Difference: from nabu's slice, inside 0.48 w, relative to its max.",
        "",
        "| n_a × w | padding | program | time | over nabu's | requested peak, bytes | over the floor | difference |",
        "|---|---|---|---|---|---|---|---|",
    ]


def parse_shapes(text: str) -> list[tuple[int, int]]:
    shapes = [tuple(int(size) for size in shape.split("x")) for shape in text.split(",")]
    if any(len(shape) != 2 or min(shape) < 2 for shape in shapes):
        raise ValueError(text)
    return shapes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="default build/release")
    parser.add_argument(
        "--shapes", type=parse_shapes, default="512x512,1440x1024", help="N_AxW,… (default 512x512,1440x1024)"
    )
    parser.add_argument("--modes", default="zeros,edges", help="zeros, edges or both (default)")
    parser.add_argument("--rounds", type=int, default=5, help="timed calls of each program (default 5)")
    parser.add_argument("-o", "--output", type=Path, help="file to write instead of standard output")
    parser.add_argument("--json", type=Path, help="file to write the figures to, in addition to the table")
    arguments = parser.parse_args()
    modes = arguments.modes.split(",")
    build = arguments.build.resolve()
    if not set(modes) <= set(MODES) or arguments.rounds < 1:
        parser.error("--modes must be zeros, edges or both; --rounds must be at least 1")
    for program in ("bench/fbp_host", "harness/cli/peakmark"):
        if not (build / program).exists():
            parser.error(f"{build} has no {program}: build it first, as ci/test release does")

    python = make_environment()
    if Path(sys.prefix).resolve() != ENVIRONMENT.resolve():
        os.execv(python, [str(python), *sys.argv])

    # Without this, PoCL's limits depend on the memory that happens to be free, and differ between the programs.
    os.environ.setdefault("POCL_MEMORY_LIMIT", "4")
    load = os.getloadavg()[0]
    measured, about = [], {}
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            device = device_name(build, folder)
            for n_a, w in arguments.shapes:
                sinogram = folder / f"{n_a}x{w}.f32"
                write_sinogram(n_a, w, sinogram)
                for mode in modes:
                    print(f"{n_a} x {w}, {mode}", file=sys.stderr)
                    task = Task(n_a, w, mode, sinogram)
                    of_task, about = measure(task, build, arguments.rounds, device, folder)
                    measured += of_task
    except PeerError as error:
        print(f"nabu_fbp: {error}", file=sys.stderr)
        return EXIT_MEASUREMENT
    table = "\n".join(header(about, arguments.rounds, load) + [row_text(one) for one in measured]) + "\n"
    if arguments.json:
        arguments.json.write_text(json.dumps({"nabu": about, "measured": measured}, indent=1), encoding="utf-8")
    if arguments.output:
        arguments.output.write_text(table, encoding="utf-8")
    else:
        print(table, end="")
    agree = all(one["difference"] <= MAX_DIFFERENCE for one in measured)
    if not agree:
        print(f"nabu_fbp: results differ by more than {MAX_DIFFERENCE:g}", file=sys.stderr)
    return 0 if agree else EXIT_MEASUREMENT


if __name__ == "__main__":
    sys.exit(main())
