"""A lease of a machine with a GPU: runs programs within a time limit, and collects their output in one archive."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ARCHIVE = "gpu-check.tar.gz"
RESULTS = "results.tsv"
MAX_ARCHIVE_BYTES = 16 << 20
MAX_DETAIL = 400  # characters
# Seconds at the end of the limit, for killing a running program and packing.
RESERVE = 15.0
KILL_AFTER = 2.0  # seconds between SIGTERM and SIGKILL
MIN_SECONDS = 0.2  # a check is not started with less
# Exit code of our scripts if they cannot check here; the last line of their output is the reason.
SKIPPED = 77
# Exceptions of parsing unexpected output.
UNREADABLE = (ValueError, KeyError, TypeError, IndexError, OSError)


class Wrong(Exception):
    """The program succeeded, but its numbers are outside their bounds."""


class Skip(Exception):
    """The check is not possible here; the message is the reason."""


@dataclass(frozen=True)
class Result:
    """A line of results.tsv. `detail` is the numbers, what is wrong, or why the check was skipped."""

    check: str
    stage: str
    state: str  # verified, measured, failed, skipped
    seconds: float
    exit_code: int | None
    detail: str

    def line(self) -> str:
        code = "-" if self.exit_code is None else str(self.exit_code)
        return "\t".join([self.check, self.stage, self.state, f"{self.seconds:.1f}", code, self.detail])


HEADER = "check\tstage\tstate\tseconds\texit code\tdetail"


class Lease:
    """Runs checks one after the other. Keeps their files in a temporary folder until pack() archives them in OUT."""

    def __init__(self, bundle: Path, out: Path, limit: float, environment: Mapping[str, str]):
        self.bundle = bundle
        self.out = out
        self.limit = limit
        self.environment = dict(environment)
        self.results: list[Result] = []
        self.folder = Path(tempfile.mkdtemp(prefix="gpu-check-"))
        self.logs = self.folder / "logs"
        self.runs = self.folder / "runs"
        self.logs.mkdir()
        self.runs.mkdir()
        self.end = time.monotonic() + limit - min(RESERVE, limit / 4)
        self._stage = ""
        self._stage_end = self.end
        self._stopped = ""  # the name of a signal
        self._left_out: list[Path] = []
        self._compressed: dict[tuple[Path, int, int], int] = {}

    # ---- time ----

    def stop_at_signals(self) -> None:
        """Makes SIGTERM and SIGINT end the running program; the remaining checks are skipped."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def _stop(self, number: int, _frame: object) -> None:
        self._stopped = signal.Signals(number).name

    @property
    def stopped(self) -> str:
        return self._stopped

    def begin_stage(self, name: str, seconds: float, later_seconds: float) -> bool:
        """Starts a stage. It gets its planned time and what earlier stages left, but not the time of later stages.

        Records a result and returns False if no time is left.
        """
        now = time.monotonic()
        self._stage = name
        self._stage_end = min(self.end, now + max(seconds, self.end - now - later_seconds))
        if reason := self._no_time():
            self.record(name, "skipped", reason)
        return not reason

    def seconds_left(self) -> float:
        """Returns the seconds that the stage has left."""
        return max(0.0, self._stage_end - time.monotonic())

    def _no_time(self) -> str:
        if self._stopped:
            return f"stopped by {self._stopped}"
        if self.end - time.monotonic() < MIN_SECONDS:
            return f"the limit of {self.limit:g} s is reached"
        if self.seconds_left() < MIN_SECONDS:
            return f"the time of stage {self._stage} is used up"
        return ""

    # ---- checks ----

    def record(self, check: str, state: str, detail: str, seconds: float = 0.0, exit_code: int | None = None) -> None:
        plain = " ".join(detail.split())[:MAX_DETAIL]
        self.results.append(Result(check, self._stage, state, seconds, exit_code, plain))
        self._write_results()
        with contextlib.suppress(OSError):  # the reader of standard output may have ended
            print(self.results[-1].line(), flush=True)

    def run(
        self,
        check: str,
        command: list[str | Path],
        numbers: Callable[[str], str],
        *,
        output: Path | None = None,
        environment: Mapping[str, str] | None = None,
        needs: str | Path = "",
        exit_codes: tuple[int, ...] = (0,),
        skip_codes: tuple[int, ...] = (SKIPPED,),
        state: str = "verified",
    ) -> bool:
        """Runs a program and records one result. Returns True if its numbers are good.

        The check is skipped if the program, or the program `needs` that it starts, is missing.

        `numbers` gets the program's standard output (with standard error if `output` is None) and returns the numbers that
        verify the check. It may raise Wrong or Skip. A program without numbers fails.
        """
        environment = self.environment if environment is None else environment
        words = [str(word) for word in command]
        missing = _missing(words[0], environment) or _missing(str(needs or words[0]), environment)
        if reason := self._no_time() or missing:
            self.record(check, "skipped", reason)
            return False
        log = self.logs / f"{check}.log"
        begin = time.monotonic()
        code, over = self._execute(words, log, output, environment)
        seconds = time.monotonic() - begin
        if self._stopped:
            self.record(check, "skipped", f"stopped by {self._stopped} after {seconds:.0f} s", seconds, code)
            return False
        text = _text(output or log)
        said = _last_line(log) or _last_line(output or log)
        try:
            if over:
                raise Wrong(f"did not end within {seconds:.0f} s and was killed: {said}")
            if code in skip_codes:
                raise Skip((output and _last_line(output)) or said)
            if code not in exit_codes:
                said = said or f"ended with {code}"
                try:
                    numbers(text)
                except Wrong as error:  # more precise than the last line
                    raise Wrong(f"{error}; {said}") from None
                except (Skip, *UNREADABLE):
                    pass
                raise Wrong(said)
            found = numbers(text)
            if not found:
                raise Wrong(f"ended with {code}, but its output has no numbers: {said}")
        except (Wrong, Skip) as error:
            self.record(check, "failed" if isinstance(error, Wrong) else "skipped", str(error), seconds, code)
            return False
        except UNREADABLE as error:
            unreadable = f"its output cannot be read: {type(error).__name__}: {error}"
            self.record(check, "failed", said if code and said else unreadable, seconds, code)
            return False
        self.record(check, state, found, seconds, code)
        return True

    def _execute(
        self, words: list[str], log: Path, output: Path | None, environment: Mapping[str, str]
    ) -> tuple[int, bool]:
        """Returns the exit code, and whether the time limit was reached."""
        with contextlib.ExitStack() as files:
            errors = files.enter_context(log.open("wb"))
            stdout = files.enter_context(output.open("wb")) if output else errors
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=errors,
                env=dict(environment),
                cwd=self.folder,
                start_new_session=True,
            )
            while process.poll() is None and not self._stopped and time.monotonic() < self._stage_end:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.1)
            over = process.poll() is None
            if over:
                _signal_group(process.pid, signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(KILL_AFTER)
            _signal_group(process.pid, signal.SIGKILL)  # ends its child processes, too
            return process.wait(), over

    # ---- what is left in OUT ----

    def _write_results(self) -> None:
        lines = [HEADER, *(result.line() for result in self.results)]
        if self._left_out:
            names = ", ".join(str(path.relative_to(self.folder)) for path in self._left_out)
            reason = f"left out to keep {ARCHIVE} within {MAX_ARCHIVE_BYTES >> 20} MiB: {names}"
            lines.append(Result("archive", "", "skipped", 0.0, None, reason[:MAX_DETAIL]).line())
        text = "\n".join(lines) + "\n"
        for folder in (self.folder, self.out):
            temporary = folder / f".{RESULTS}"
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(folder / RESULTS)

    def pack(self) -> None:
        """Rewrites the archive. Called after every stage, so that a kill loses at most one stage."""
        files = sorted(path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        sizes = {path: self._compressed_bytes(path) for path in files}
        total = sum(sizes.values())
        self._left_out = []
        # Omits the largest logs first, then other large files; results and environment stay.
        largest = sorted(files, key=lambda path: (path.parent == self.logs, sizes[path]))
        while total > MAX_ARCHIVE_BYTES - (512 << 10) and largest:
            path = largest.pop()
            if path.parent != self.folder:
                self._left_out.append(path)
                total -= sizes[path]
        self._write_results()
        temporary = self.out / f".{ARCHIVE}"
        with tarfile.open(temporary, "w:gz", compresslevel=6) as archive:
            for path in files:
                if path not in self._left_out:
                    archive.add(path, f"gpu-check/{path.relative_to(self.folder)}", recursive=False)
        temporary.replace(self.out / ARCHIVE)

    def _compressed_bytes(self, path: Path) -> int:
        """Returns the size of a file in the archive, with its header. Does not compress large files to find out."""
        facts = path.stat()
        if facts.st_size > 64 << 20:
            return facts.st_size
        key = (path, facts.st_size, facts.st_mtime_ns)
        if key not in self._compressed:
            self._compressed[key] = len(zlib.compress(path.read_bytes())) + 512
        return self._compressed[key]

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _missing(program: str, environment: Mapping[str, str]) -> str:
    """Returns why it cannot be started; empty if it can."""
    if "/" in program:
        return "" if os.access(program, os.X_OK) else f"{program} is missing"
    return "" if shutil.which(program, path=environment.get("PATH")) else f"{program} is missing: it is not on the PATH"


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _last_line(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        lines = file.read().decode("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
