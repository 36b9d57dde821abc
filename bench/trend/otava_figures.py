#!/usr/bin/env python3
"""Measures Apache Otava on the same simulated series as peakmark's detector.

    trend_experiments series 10 > series.csv
    python3 -m venv otava && otava/bin/pip install apache-otava==0.8.0
    otava/bin/python otava_figures.py series.csv

For each run, Otava gets the runs so far, with its defaults (window 50, p < 0.001). A change point is an alarm if no earlier
one was within 3 runs of it. Prints for each kind of noise the alarms per 1,000 case-runs, and the share of +5 % steps that
Otava reports as slower within 7 runs. Calls Otava's functions like its command does, because the command takes a second per run.
"""
import sys
from concurrent.futures import ProcessPoolExecutor

from otava.series import AnalysisOptions, Metric, Series

BEFORE, BASELINE, SAME = 60, 90, 3


def change_points(values):
    series = Series("case", None, list(range(len(values))), {"time": Metric(-1)}, {"time": values}, {})
    return series.analyze(AnalysisOptions()).change_points["time"]


def alarms(values, first):
    """Returns (run, is slower) of every alarm from run `first` on."""
    known = [point.index for point in change_points(values[:first])]
    raised = []
    for run in range(first, len(values)):
        for point in change_points(values[: run + 1]):
            if any(abs(point.index - one) <= SAME for one in known):
                continue
            known.append(point.index)
            slower = point.stats.mean_2 > point.stats.mean_1
            raised.append((run, slower))
    return raised


def ask(line):
    family, step, *times = line.strip().split(",")
    values = [float(one) for one in times]
    if float(step) == 0:
        return family, step, len(alarms(values, BEFORE)), len(values) - BEFORE
    found = any(slower for _, slower in alarms(values, BASELINE))
    return family, step, int(found), 1


def main():
    with open(sys.argv[1]) as file, ProcessPoolExecutor() as pool:
        answers = list(pool.map(ask, file, chunksize=4))
    sums = {}
    for family, step, count, of in answers:
        total = sums.setdefault((family, step), [0, 0, 0])
        total[0] += count
        total[1] += of
        total[2] += 1
    print("| noise | step | series | alarms per 1,000 runs, or share found |\n|---|---|---|---|")
    for (family, step), (count, of, series) in sums.items():
        scale = 1000 if float(step) == 0 else 1
        print(f"| {family} | {step} | {series} | {scale * count / of:.2f} |")


if __name__ == "__main__":
    main()
