#!/usr/bin/env python3
"""Prints tables (markdown) of a run of these suites.

    suites/clients/run_tables.py peaks RUN... [--of OPERATION] [--into FILE]
    suites/clients/run_tables.py estimates RUN... [--of OPERATION] [--into FILE]

`peaks`: a row for each shape, with setup and peak bytes of each variant. `estimates`: a row for each case, with the recorded peak,
the estimates in bytes and in slices, and the verdict of `peakmark check`. `--into FILE` writes the table, and a line with
device and date, between the lines `<!-- table NAME -->` and `<!-- end -->` of FILE; NAME is OPERATION or the suite's name.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

EXIT_USAGE = 2


class TableError(Exception):
    """A file cannot be used."""


def read_run(path):
    """Returns the context of a run, and its observations with their variant."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        about = document["context"]["peakmark"]
        planned = {one["case"]: one for one in about["planned"]}
        observations = [row["peakmark"] for row in document["benchmarks"] if "peakmark" in row]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TableError(f"not a run file: {path}: {error}") from error
    if about.get("version") != 1:
        raise TableError(f"unsupported version {about.get('version')} of a run file: {path}; version 1 is needed")
    for one in observations:
        one["variant"] = planned[one["case"]]["variant"]
    return about, observations


def operation_name(variant):
    return variant.split("/")[0]


def variant_name(variant):
    return variant.split("/", 1)[1]


def markdown(rows):
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join('–' if cell is None else str(cell) for cell in row)} |\n" for row in rows)


def axes_that_differ(observations):
    """Returns the names of the axes with more than one value, in their order."""
    names = list(dict.fromkeys(name for one in observations for name in one["axes"]))
    return [name for name in names if len({one["axes"].get(name) for one in observations}) > 1]


def peaks_table(observations):
    names = axes_that_differ(observations)
    ways = list(dict.fromkeys(variant_name(one["variant"]) for one in observations))
    rows = {}
    for one in observations:
        shape = tuple(one["axes"].get(name) for name in names)
        measured = (one.get("setup_bytes"), one.get("requested_peak_bytes"))
        rows.setdefault(shape, {})[variant_name(one["variant"])] = measured
    header = [*names, *(f"setup, {way}" for way in ways), *(f"peak, {way}" for way in ways)]
    empty = (None, None)
    return markdown(
        [
            header,
            *(
                [*shape, *(of_way.get(way, empty)[0] for way in ways), *(of_way.get(way, empty)[1] for way in ways)]
                for shape, of_way in rows.items()
            ),
        ]
    )


def ratio(dividend, divisor):
    return None if dividend is None or not divisor else dividend / divisor


def read_verdicts(path):
    """Returns the verdicts of `peakmark check` on estimates, by case and estimator."""
    try:
        checked = subprocess.run(["peakmark", "check", path, "--json"], capture_output=True, text=True)
    except FileNotFoundError:
        raise TableError("peakmark is not in PATH: add the folder of the installed command") from None
    if checked.returncode not in (0, 1, 3, 4):
        raise TableError(checked.stderr.strip().removeprefix("peakmark: "))
    verdicts = {}
    for one in json.loads(checked.stdout)["verdicts"]:
        if one["rule"] in ("estimator", "window_bytes", "window_slices"):
            verdicts.setdefault((one["case"], one["estimator"]), []).append(one)
    return verdicts


def verdict_text(verdicts):
    """Returns `holds`, or why an estimate fails: `too low`, `too high`, or the error of the estimator."""
    failed = [one for one in verdicts if one["judgement"] in ("fail", "failed_measurement")]
    if not failed:
        return "holds" if verdicts else None
    if any(one["bound"] and one["figure"] > one["bound"]["hi"] for one in failed):
        return "**too low**"
    return "too high" if failed[0]["bound"] else failed[0]["advice"].partition(":")[0]


def three_digits(value):
    return None if value is None else f"{value:.3f}"


def estimates_table(observations, verdicts):
    names = axes_that_differ(observations)
    header = ["variant", *names, "peak, bytes", "estimator", "its bytes", "peak / its bytes", "slices", "verdict"]
    rows = [header]
    for one in observations:
        start = [one["variant"], *(one["axes"].get(name) for name in names), one.get("requested_peak_bytes")]
        if one["outcome"] != "ok":
            rows.append([*start, None, None, None, None, f"{one['outcome']}: {one.get('message') or ''}"])
            continue
        for estimate in filter(None, [one.get("estimate"), *(one.get("other_estimates") or [])]):
            used, estimated = estimate.get("slices_used"), estimate.get("slices_estimated")
            bytes_ratio = ratio(one.get("requested_peak_bytes"), estimate.get("bytes_estimated"))
            slices = None if estimated is None else f"{estimated} of {used}"
            rows.append(
                [
                    *start,
                    estimate["estimator"],
                    estimate.get("bytes_estimated"),
                    three_digits(bytes_ratio),
                    slices,
                    verdict_text(verdicts.get((one["case"], estimate["estimator"]), [])),
                ]
            )
    return markdown(rows)


def source_line(about):
    fields = [
        about.get("device"),
        f"{about.get('backend')} driver {about.get('driver')}",
        (about.get("date") or "")[:10],
    ]
    return f"*{', '.join(str(field) for field in fields)}.*\n"


def put_into(path, name, text):
    """Replaces the text between the marks. Raises TableError if there are none."""
    begin, end = f"<!-- table {name} -->\n", "<!-- end -->"
    document = path.read_text(encoding="utf-8")
    before, found, rest = document.partition(begin)
    if not found or end not in rest:
        raise TableError(f"{path} has no lines '{begin.strip()}' and '{end}'")
    path.write_text(f"{before}{begin}{text}{end}{rest.partition(end)[2]}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["peaks", "estimates"])
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--of", metavar="OPERATION", help="only cases of this operation")
    parser.add_argument("--into", type=Path, metavar="FILE")
    asked = parser.parse_args()
    try:
        read = [read_run(path) for path in asked.runs]
        observations = [
            one for _, all_of_run in read for one in all_of_run if asked.of in (None, operation_name(one["variant"]))
        ]
        if not observations:
            raise TableError(f"no case of {asked.of or 'any operation'} in {', '.join(asked.runs)}")
        if asked.kind == "peaks":
            table = peaks_table(observations)
        else:
            table = estimates_table(observations, {key: one for path in asked.runs for key, one in read_verdicts(path).items()})
        text = f"{source_line(read[0][0])}\n{table}"
        if asked.into:
            put_into(asked.into, asked.of or read[0][0]["suite"], text)
        else:
            print(text, end="")
    except (TableError, OSError) as error:
        print(f"run_tables: {error}", file=sys.stderr)
        return EXIT_USAGE
    return 0


if __name__ == "__main__":
    sys.exit(main())
