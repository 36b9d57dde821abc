#!/usr/bin/env python3
"""Kills peakmark with SIGKILL at random moments, and checks that no result is lost or duplicated and all files are readable.

    ci/kill_test.py build/prefix/bin/peakmark                              # 100 kills of each kind
    ci/kill_test.py build/prefix/bin/peakmark --count 5 --kinds history    # fewer, of one kind
    ci/kill_test.py build/prefix/bin/peakmark --seed 7                     # the same moments again

| kind | killed process | condition |
|---|---|---|
| supervisor | `run`, and again while it resumes | the resumed run has each case once, equal to an undisturbed run |
| worker | a worker of `run` | as above, but the case that it measured may be `crashed` |
| record | `record`, not its program | the program ends with 0, its profile is complete; the next recording works and leaves one file |
| recorded | the program under `record` | exit code 137; the profile has each allocation that had returned to the program |
| history | `history add` | the database is intact; a second `history add` gives the same history as without a kill |

A moment is a number of bytes that the process has read and written (/proc/PID/io), or of lines that a program has printed, drawn
between 0 and the number of an undisturbed run. A process that ends before its moment does not count as a kill.
Exit code: 1 if a check fails, with the seed and the folder, which is kept; 2 for wrong arguments.
"""

import argparse
import fcntl
import json
import os
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from helpers import has_ended, quantity

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 120  # for each process
ALLOCATIONS = 200

# Runs of another branch than the base branch are not exported, whatever is checked out here.
HISTORY_ADD = ("history", "add", "--branch", "main", "--base-branch", "main")

# Prints a line of 1,000 bytes after each allocation. The pipe holds four of them, so the program is at most four lines ahead.
PROGRAM = f"""
import os
from small_opencl import Context
context = Context()
print(os.getpid(), flush=True)
held = []
for i in range({ALLOCATIONS}):
    held.append(context.buffer(1000 + i))
    print(str(i).ljust(1000), flush=True)
"""


class Failure(Exception):
    """A condition does not hold."""


def expect(holds: object, message: str) -> None:
    if not holds:
        raise Failure(message)


def ended(pid: int) -> None:
    """Waits until a process, which need not be a child, has ended."""
    expect(has_ended(pid, LIMIT_S), f"process {pid} has not ended within {LIMIT_S} s")


def bytes_moved(pid: int) -> int:
    """Returns the bytes that a process has read and written; -1 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text().split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return -1
    return int(lines[1]) + int(lines[3])


def children(pid: int) -> list[int]:
    try:
        return [int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


class KillTest:
    def __init__(self, peakmark: Path, folder: Path, draw: random.Random) -> None:
        self.peakmark = peakmark
        self.folder = folder
        self.draw = draw
        self.environment = os.environ | {"TMPDIR": str(folder / "tmp"), "PYTHONPATH": str(ROOT / "harness/python/tests")}
        (folder / "tmp").mkdir()

    def run(self, *words: object, code: int = 0) -> str:
        """Runs peakmark to its end; returns its standard output."""
        done = subprocess.run([self.peakmark, *map(str, words)], env=self.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        expect(done.returncode == code, f"peakmark {' '.join(map(str, words))} ended with {done.returncode}, not with {code}: {done.stderr}")
        return done.stdout

    def start(self, *words: object, **options) -> subprocess.Popen:
        return subprocess.Popen([self.peakmark, *map(str, words)], env=self.environment, **({"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | options))

    def length(self, *words: object) -> int:
        """Returns the bytes that an undisturbed process reads and writes."""
        process = self.start(*words)
        # /proc/PID/io exists until the process is waited for.
        watched = os.pidfd_open(process.pid)
        expect(select.select([watched], [], [], LIMIT_S)[0], "an undisturbed process does not end")
        os.close(watched)
        moved = bytes_moved(process.pid)
        expect(process.wait() == 0, f"peakmark {' '.join(map(str, words))} ended with {process.returncode}")
        return moved

    def killed_after(self, moved: int, process: subprocess.Popen) -> bool:
        """Kills a process once it has read and written `moved` bytes. Returns False if it ended first."""
        end = time.monotonic() + LIMIT_S
        while process.poll() is None and bytes_moved(process.pid) < moved:
            expect(time.monotonic() < end, f"peakmark has not moved {moved} bytes within {LIMIT_S} s")
        process.kill()
        return process.wait() == -signal.SIGKILL

    # Runs.

    def sweep(self, output: Path) -> list[object]:
        return ["run", ROOT / "suites/nightly.toml", "--filter", "^(padding|mul_add)/", "--memory-only", "--backend", "dry", "-o", output]

    def observations(self, run_file: Path) -> dict[str, dict]:
        """Returns observations by case. Fails if the cases are not the planned ones, each once."""
        run = json.loads(run_file.read_text())
        about = run["context"]["peakmark"]
        expect(about["complete"], f"{run_file}: not complete")
        planned = [one["case"] for one in about["planned"]]
        measured = [one["peakmark"] for one in run["benchmarks"]]
        expect([one["case"] for one in measured] == planned, f"{run_file}: the cases are not those planned, each once and in order")
        facts = ("outcome", "requested_peak_bytes", "first_call_peak_bytes", "setup_bytes", "leaked_bytes", "at_peak")
        return {one["case"]: {fact: one.get(fact) for fact in facts} for one in measured}

    def partial_cases(self, run_file: Path) -> list[str]:
        """Returns the cases with a complete line in the partial file."""
        partial = Path(f"{run_file}.partial")
        if not partial.exists():
            return []
        whole = partial.read_text().split("\n")[:-1]
        cases = [one.get("peakmark", one).get("case") for one in map(json.loads, whole)]
        return [case for case in cases if case]

    def supervisor_prepared(self) -> None:
        self.reference = self.folder / "reference.json"
        self.total = self.length(*self.sweep(self.reference))
        self.wanted = self.observations(self.reference)
        self.run_file = self.folder / "run.json"

    def supervisor(self) -> int:
        """Kills and resumes one run until it is complete. Returns the number of kills."""
        kills = 0
        measured: list[str] = []
        resume: list[object] = []
        while not self.run_file.exists():
            process = self.start(*self.sweep(self.run_file), *resume)
            workers: list[int] = []
            moment = self.draw.randrange(self.total)
            end = time.monotonic() + LIMIT_S
            while process.poll() is None and bytes_moved(process.pid) < moment:
                workers = children(process.pid) or workers
                expect(time.monotonic() < end, f"run has not moved {moment} bytes within {LIMIT_S} s")
            workers = children(process.pid) or workers
            process.kill()
            if process.wait() == -signal.SIGKILL:
                kills += 1
            else:
                expect(process.returncode == 0, f"run ended with {process.returncode}")
            for worker in workers:
                ended(worker)
            now = self.partial_cases(self.run_file)
            expect(len(set(now)) == len(now), f"{self.run_file}.partial has a case twice")
            if not self.run_file.exists():
                expect(set(measured) <= set(now), f"cases are lost: {sorted(set(measured) - set(now))[:3]}")
            measured = now
            resume = ["--resume"] if Path(f"{self.run_file}.partial").exists() else []
            if kills >= 6 and not self.run_file.exists():
                self.run(*self.sweep(self.run_file), *resume)
        if Path(f"{self.run_file}.partial").exists():
            self.run(*self.sweep(self.run_file), "--resume")  # killed between the run file and the end of the partial one
        expect(self.observations(self.run_file) == self.wanted, f"{self.run_file} differs from {self.reference}")
        self.one_file_left(self.run_file)
        self.run_file.unlink()
        return kills

    def one_file_left(self, run_file: Path) -> None:
        beside = sorted(one.name for one in run_file.parent.glob(f"{run_file.name}*"))
        expect(beside == [run_file.name], f"left beside {run_file}: {beside}")

    worker_prepared = supervisor_prepared

    def worker(self) -> int:
        process = self.start(*self.sweep(self.run_file), stderr=subprocess.PIPE, text=True)
        moment = self.draw.randrange(self.total)
        end = time.monotonic() + LIMIT_S
        killed = 0
        while process.poll() is None and not killed:
            expect(time.monotonic() < end, "run does not end")
            if bytes_moved(process.pid) < moment:
                continue
            for worker in children(process.pid)[:1]:
                try:
                    os.kill(worker, signal.SIGKILL)
                    killed = 1
                except ProcessLookupError:
                    pass
        errors = process.communicate(timeout=LIMIT_S)[1]
        if killed and not self.run_file.exists():
            # The worker was killed before its first case, while it described itself or checked the cases.
            expect(process.returncode != 0 and "SIGKILL" in errors, f"run ended with {process.returncode} and no run file: {errors}")
            expect(not Path(f"{self.run_file}.partial").exists(), "a run without a case left a partial file")
            return killed
        found = self.observations(self.run_file)
        crashed = [case for case, one in found.items() if one["outcome"] == "crashed"]
        expect(len(crashed) <= killed, f"cases crashed: {crashed}")
        expect(process.returncode == (3 if crashed else 0), f"run ended with {process.returncode}, crashed: {crashed}: {errors}")
        for case, one in found.items():
            expect(case in crashed or one == self.wanted[case], f"{case} differs from {self.reference}")
        self.one_file_left(self.run_file)
        self.run_file.unlink()
        return killed

    # Recordings.

    def record_prepared(self) -> None:
        self.program = self.folder / "program.py"
        self.program.write_text(PROGRAM)

    recorded_prepared = record_prepared

    def profiles(self) -> list[Path]:
        return sorted(self.folder.glob("p.profile*"))

    def recording(self) -> tuple[subprocess.Popen, int]:
        """Starts a recording. Returns its process, and the id of the program's process, which is at most four lines ahead."""
        process = self.start("record", "-o", self.folder / "p.profile", "--", sys.executable, self.program, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        return process, int(process.stdout.readline())

    def shown(self, profile: Path) -> dict:
        return json.loads(self.run("show", profile, "--json"))

    def record(self) -> int:
        lines = self.draw.randrange(ALLOCATIONS)
        process, program = self.recording()
        watched = os.pidfd_open(program)
        for _ in range(lines):
            process.stdout.readline()
        process.kill()
        process.wait()
        rest = process.stdout.read().splitlines()
        expect(select.select([watched], [], [], LIMIT_S)[0], f"the program has not ended within {LIMIT_S} s")
        os.close(watched)
        process.stderr.close()
        process.stdout.close()
        expect(lines + len(rest) == ALLOCATIONS, "the program did not go on")
        profile = self.folder / f"p.profile.{program}"
        expect(profile.exists(), f"{profile}: the profile is missing, although its program continued")
        shown = self.shown(profile)
        expect(shown["complete"] and shown["requested"]["allocations"] == ALLOCATIONS, f"{profile}: events are missing")
        # The next recording with the same name works, and removes the files of the killed one.
        process, _ = self.recording()
        _, errors = process.communicate(timeout=LIMIT_S)
        expect(process.returncode == 0, f"the next recording ended with {process.returncode}: {errors.decode()}")
        expect(self.shown(self.folder / "p.profile")["requested"]["allocations"] == ALLOCATIONS, "the next recording lost events")
        expect([one.name for one in self.profiles()] == ["p.profile"], f"left beside p.profile: {self.profiles()}")
        left = [one.name for one in (self.folder / "tmp").iterdir() if "lock" not in one.name]
        expect(not left, f"left in the folder for temporary files: {left}")
        (self.folder / "p.profile").unlink()
        return 1

    def recorded(self) -> int:
        lines = self.draw.randrange(ALLOCATIONS)
        process, program = self.recording()
        for _ in range(lines):
            process.stdout.readline()
        os.kill(program, signal.SIGKILL)
        printed = lines + len(process.communicate(timeout=LIMIT_S)[0].splitlines())
        expect(process.returncode == 137 or printed == ALLOCATIONS, f"record ended with {process.returncode}, not with 137")
        shown = self.shown(self.folder / "p.profile")
        found = shown["requested"]["allocations"]
        expect(printed <= found <= ALLOCATIONS, f"{found} allocations are recorded of {printed}")
        expect(shown["requested"]["peak_bytes"] == sum(1000 + i for i in range(found)), "recorded bytes differ")
        expect([one.name for one in self.profiles()] == ["p.profile"], f"left beside p.profile: {self.profiles()}")
        (self.folder / "p.profile").unlink()
        return 1

    # Histories.

    def history_prepared(self) -> None:
        self.files = [self.folder / f"run{i}.json" for i in range(6)]
        for file in self.files:
            self.run("run", ROOT / "suites/smoke.toml", "--memory-only", "--backend", "dry", "-o", file)
        whole = self.folder / "whole.db"
        self.total = self.length(*HISTORY_ADD, "--history", whole, *self.files)
        self.exported = self.run("history", "export", "--history", whole, "--format", "jsonl")
        expect(len(self.exported.splitlines()) == 6 * 20, "an undisturbed history has other cases")

    def history(self) -> int:
        database = self.folder / "history.db"
        killed = self.killed_after(self.draw.randrange(self.total), self.start(*HISTORY_ADD, "--history", database, *self.files))
        if database.exists():
            with sqlite3.connect(database) as connection:
                sound = connection.execute("PRAGMA integrity_check").fetchall()
            connection.close()
            expect(sound == [("ok",)], f"{database}: {sound}")
        # A second `history add` adds the missing runs only.
        self.run(*HISTORY_ADD, "--history", database, *self.files)
        expect(self.run("history", "export", "--history", database, "--format", "jsonl") == self.exported, f"{database} differs from an undisturbed history")
        for file in self.folder.glob("history.db*"):
            file.unlink()
        return int(killed)


KINDS = ("supervisor", "worker", "record", "recorded", "history")


def killed(kind: str, test: KillTest, count: int) -> int:
    prepare: Callable[[], None] = getattr(test, f"{kind}_prepared")
    kill: Callable[[], int] = getattr(test, kind)
    prepare()
    kills = tries = 0
    while kills < count:
        tries += 1
        expect(tries <= 10 * count, f"{quantity(kills, 'kill')} in {quantity(tries, 'try', 'tries')}: the processes end before their moments")
        kills += kill()
    return kills


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peakmark", type=Path)
    parser.add_argument("--count", type=int, default=100, help="kills of each kind (default: 100)")
    parser.add_argument("--seed", type=int, default=None, help="default: random, printed")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    asked = parser.parse_args()
    if not asked.peakmark.exists():
        parser.error(f"no such program: {asked.peakmark}")
    seed = random.randrange(1 << 32) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    for kind in asked.kinds:
        folder = Path(tempfile.mkdtemp(prefix=f"kill-{kind}-"))
        begin = time.monotonic()
        try:
            kills = killed(kind, KillTest(asked.peakmark.absolute(), folder, random.Random(f"{seed} {kind}")), asked.count)
        except (Failure, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
            print(f"kill_test: {kind}, seed {seed}: {type(error).__name__}: {error}; see {folder}", file=sys.stderr)
            return 1
        print(f"{kind}: {quantity(kills, 'kill')}, nothing lost, nothing twice, {time.monotonic() - begin:.0f} s", flush=True)
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
