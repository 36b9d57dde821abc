"""Prints the ns that the recorder adds to a call, in interleaved rounds with and without it: `cost.py EVERY_ALLOCATION`.

No bound: it has not been measured yet.
"""

import json
import statistics
import subprocess
import sys
import tempfile

ROUNDS = 5
EVENTS = "100000"


def ns_of_event(command: list[str]) -> float:
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["ns_an_event"])


def main() -> None:
    program = [sys.argv[1], "loop", EVENTS]
    plain, recorded = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            plain.append(ns_of_event(program))
            recorded.append(ns_of_event(["peakmark", "record", "-o", f"{folder}/profile", "--", *program]))
    added = [after - before for before, after in zip(plain, recorded)]
    print(f"ns an event without the recorder: {plain}; with it: {recorded}")
    print(f"the recorder adds {statistics.median(added):.0f} ns to a call ({min(added):.0f} to {max(added):.0f} in {ROUNDS} rounds)")


if __name__ == "__main__":
    main()
