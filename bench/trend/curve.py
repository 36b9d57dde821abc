#!/usr/bin/env python3
"""Plots the output of `trend_experiments curve`: false alarms against steps found. Writes .svg and .png.

    trend_experiments curve > curve.csv
    python3 curve.py curve.csv [OTAVA_FALSE_ALARMS OTAVA_FOUND] -o ../../docs/pictures/trend-curve
"""
import argparse
import csv

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

matplotlib.rcParams["svg.hashsalt"] = "peakmark"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("curve")
    parser.add_argument("otava", nargs="*", type=float)
    parser.add_argument("-o", "--output", default="trend-curve")
    options = parser.parse_args()
    curves = {}
    with open(options.curve) as file:
        for row in csv.DictReader(file):
            point = (float(row["false_alarms_per_1000"]), float(row["found_5_percent_in_7_runs"]))
            curves.setdefault(row["detector"], []).append(point)
    if len(options.otava) == 2:
        curves["Otava"] = [tuple(options.otava)]

    figure, axes = plt.subplots(figsize=(7.5, 5))
    styles = {
        "optimal CUSUM": dict(color="0.45", linestyle="--", label="optimal CUSUM, one measurement per run (limit)"),
        "peakmark with re-run": dict(color="#0b6e99", marker="o", label="peakmark, re-run on suspicion"),
        "peakmark without re-run": dict(color="#e08e0b", marker="s", label="peakmark, the next run confirms"),
    }
    x_min = 0.01
    named = []
    for name, points in curves.items():
        xs = [max(x, x_min) for x, _ in points]
        ys = [y for _, y in points]
        if name in styles:
            axes.plot(xs, ys, markersize=4, **styles[name])
        else:
            axes.plot(xs, ys, "x", color="0.2")
            # Stack the names of points that are close together.
            together = sum(abs(x / xs[0] - 1) < 0.5 and abs(y - ys[0]) < 0.03 for x, y in named)
            axes.annotate(name, (xs[0], ys[0]), textcoords="offset points", xytext=(6, 4 + 11 * together), fontsize=8)
            named.append((xs[0], ys[0]))
    axes.axvspan(x_min, 0.3, color="#0b6e99", alpha=0.07, linewidth=0)
    axes.set_xscale("log")
    axes.set_xlim(x_min, 30)
    axes.set_ylim(0, 1)
    axes.set_xlabel("false alarms per 1,000 case-runs (0.01: that or less; shaded: 0.3 or less)")
    axes.set_ylabel("+5 % found within 7 runs")
    axes.set_title("Gaussian noise of 3 %, simulated")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(options.output + ".svg", metadata={"Date": None})
    figure.savefig(options.output + ".png", dpi=120)


if __name__ == "__main__":
    main()
