#!/usr/bin/env python3
"""Apache Otava on the simulated series that the detector of peakmark is measured on.

    trend_experiments series 10 > series.csv
    python3 -m venv otava && otava/bin/pip install apache-otava==0.8.0
    otava/bin/python otava_figures.py series.csv

Each night Otava sees the nights so far, with its defaults (window 50, p < 0.001). A change point is new, and an alarm,
where none was reported within 3 nights of it before. Prints, for each kind of noise, alarms per 1,000 case-nights, and
the part of +5 % steps that is told as slower within 7 nights. It calls Otava's functions as its command does: the command
itself would take a second for each of these thousands of nights.
"""
import sys
from concurrent.futures import ProcessPoolExecutor

from otava.series import AnalysisOptions, Metric, Series

BEFORE, BASELINE, SAME = 60, 90, 3


def change_points(values):
    series = Series("case", None, list(range(len(values))), {"time": Metric(-1)}, {"time": values}, {})
    return series.analyze(AnalysisOptions()).change_points["time"]


def alarms(values, first):
    """(night, is slower) of every alarm from night `first` on."""
    known = [point.index for point in change_points(values[:first])]
    raised = []
    for night in range(first, len(values)):
        for point in change_points(values[: night + 1]):
            if any(abs(point.index - one) <= SAME for one in known):
                continue
            known.append(point.index)
            slower = point.stats.mean_2 > point.stats.mean_1
            raised.append((night, slower))
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
    print("| noise | step | series | alarms per 1,000 nights, or part found |\n|---|---|---|---|")
    for (family, step), (count, of, series) in sums.items():
        scale = 1000 if float(step) == 0 else 1
        print(f"| {family} | {step} | {series} | {scale * count / of:.2f} |")


if __name__ == "__main__":
    main()
