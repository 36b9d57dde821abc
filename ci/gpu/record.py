"""Records a program that prints its own figures as its last line, and compares: `record.py PROFILE [OPTION…] -- PROGRAM…`.

The figures are JSON, with the keys of `requested` in `peakmark show --json`; they must be equal. torch's own figures, `allocated` and
`reserved`, must be at most the recorded peak, since its libraries allocate more. Exit code: 0; 1 if a figure differs, else that of the program.
"""

import json
import subprocess
import sys
from pathlib import Path


def difference(key: str, own: int, requested: dict) -> str:
    """Returns what is wrong with a figure; empty if nothing is."""
    if key in ("reserved", "allocated"):
        return "" if requested["peak_bytes"] >= own else f"recorded a peak of {requested['peak_bytes']}, {key} are {own}"
    return "" if requested[key] == own else f"{key}: recorded {requested[key]}, the program says {own}"


def main() -> int:
    profile, *command = sys.argv[1:]
    for older in Path().glob(f"{profile}*"):
        older.unlink()
    recorded = subprocess.run(["peakmark", "record", "-o", profile, *command], stdout=subprocess.PIPE, text=True)
    print(recorded.stdout, end="")
    if recorded.returncode != 0:
        return recorded.returncode
    known = json.loads(recorded.stdout.splitlines()[-1])
    shown = subprocess.run(["peakmark", "show", "--json", profile], stdout=subprocess.PIPE, text=True, check=True)
    requested = json.loads(shown.stdout)["requested"]
    print(f"recorded: {requested}")
    differences = [found for key, own in known.items() if (found := difference(key, own, requested))]
    print("; ".join(differences) or "recorded = known")
    return 1 if differences or not known else 0


if __name__ == "__main__":
    sys.exit(main())
