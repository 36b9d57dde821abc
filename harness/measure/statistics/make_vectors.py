#!/usr/bin/env python3
"""Writes scipy_vectors.inc: samples, and the results of scipy for them.

Run with numpy and scipy 1.11 or later: python3 make_vectors.py > scipy_vectors.inc
p is that of scipy.stats.mannwhitneyu: `exact` for small samples without equal values, and `asymptotic` for large samples. For
small samples with equal values, p is that of scipy.stats.permutation_test over all ways to distribute the values, because
scipy's exact distribution does not allow ties. The interval consists of the shifts that mannwhitneyu does not reject at 5 %; one
shift between each two neighbouring differences is tried, and only for samples without equal values.
"""
import itertools

import numpy
from scipy import stats

random = numpy.random.default_rng(20)


def numbers(values):
    return "{" + ", ".join(repr(float(value)) for value in values) + "}"


def tied(first, second):
    both = numpy.concatenate([first, second])
    return len(numpy.unique(both)) < len(both)


def p_of(first, second, method):
    if method == "exact" and tied(first, second):
        def u(x, y, axis):
            return stats.mannwhitneyu(x, y, axis=axis, method="asymptotic").statistic
        return stats.permutation_test((first, second), u, vectorized=True, n_resamples=numpy.inf).pvalue
    return stats.mannwhitneyu(first, second, method=method).pvalue


def interval(base, new, method):
    differences = numpy.sort(numpy.subtract.outer(new, base).ravel())
    kept = [(low, high) for low, high in itertools.pairwise(differences)
            if stats.mannwhitneyu(new - (low + high) / 2, base, method=method).pvalue > 0.05]
    if not kept:
        return None
    low, high = kept[0][0], kept[-1][1]
    for end in (differences[0] - 1, differences[-1] + 1):  # beyond every difference
        if stats.mannwhitneyu(new - end, base, method=method).pvalue > 0.05:
            return None
    return low, high


def vector(first, second, method):
    u = stats.mannwhitneyu(first, second, method="asymptotic").statistic
    shift = numpy.median(numpy.subtract.outer(second, first))
    limits = None if tied(first, second) else interval(first, second, method)
    print(f"{{{numbers(first)},\n {numbers(second)},\n {float(u)!r}, {float(p_of(first, second, method))!r}, "
          f"{'true' if method == 'exact' else 'false'}, {float(shift)!r}, "
          f"{'std::nullopt' if limits is None else f'Interval{{{float(limits[0])!r}, {float(limits[1])!r}}}'}}},")



print("// Made by make_vectors.py with scipy; do not edit.")
print("#ifdef RANK_VECTORS")
for sizes in [(1, 1), (2, 3), (3, 3), (4, 4), (5, 3), (7, 7), (9, 9), (9, 9), (9, 12), (10, 6), (15, 15), (20, 18)]:
    for scale in (0.0, 1.0):
        first = random.normal(100, 1, sizes[0]).round(4)
        second = random.normal(100 + scale, 1, sizes[1]).round(4)
        vector(first, second, "exact")
vector(numpy.arange(9.0), numpy.arange(9.0) + 20, "exact")  # nothing overlaps
for sizes in [(3, 3), (4, 5), (5, 5), (6, 4), (7, 6), (9, 8), (8, 2)]:
    for values in (3, 6):
        vector(random.integers(0, values, sizes[0]).astype(float), random.integers(0, values, sizes[1]).astype(float),
               "exact")
vector(numpy.ones(5), numpy.ones(4), "exact")
for sizes in [(40, 40), (60, 30)]:
    vector(random.normal(100, 1, sizes[0]).round(6), random.normal(100.4, 1, sizes[1]).round(6), "asymptotic")
    vector(random.integers(0, 9, sizes[0]).astype(float), random.integers(1, 10, sizes[1]).astype(float), "asymptotic")
print("#endif")
print("#ifdef FALSE_DISCOVERY_VECTORS")
for p in [[0.03], [0.01, 0.02, 0.03, 0.04, 0.05], [0.04, 0.001, 0.9, 0.02, 0.02, 1.0], [1.0, 1.0],
          random.random(20).round(5).tolist(), (random.random(30) ** 4).round(8).tolist()]:
    print(f"{{{numbers(p)},\n {numbers(stats.false_discovery_control(p))}}},")
print("#endif")
print("#ifdef CENTRE_VECTORS")
for values in [[3.0], [1.0, 2.0], [5.0, 1.0, 4.0], [2.0] * 7, random.normal(50, 4, 10).round(3).tolist(),
               random.lognormal(0, 1, 25).round(5).tolist()]:
    print(f"{{{numbers(values)}, {float(numpy.median(values))!r}}},")
print("#endif")
