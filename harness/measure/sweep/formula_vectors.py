#!/usr/bin/env python3
"""Writes formula_vectors.inc: random formulas and their values, computed with Python's exact integers.

Python's // and % round down, as the formulas of suites do. Run: python3 formula_vectors.py > formula_vectors.inc
"""
import random

AXES = {"n": 20, "ny": 512, "nx": 1337, "pad": -3}
MOST = 2**63 - 1


def formula(depth):
    if depth == 0 or random.random() < 0.15:
        return random.choice([*AXES, str(random.choice([0, 1, 2, 7, 1000, 2**31, 2**53 + 1]))])
    kind = random.random()
    if kind < 0.6:
        return f"{formula(depth - 1)} {random.choice('+-*/%')} {formula(depth - 1)}"
    if kind < 0.75:
        return f"({formula(depth - 1)})"
    if kind < 0.85:
        return f"-{formula(0)}"
    if kind < 0.95:
        return f"{random.choice(['min', 'max'])}({formula(depth - 1)}, {formula(depth - 1)}, {formula(0)})"
    return f"next_pow2({formula(depth - 1)})"


class Checked(int):
    """An int whose operations raise an error if the result does not fit into 64 bits."""

    def __new__(cls, value):
        if not -(2**63) <= value <= MOST:
            raise OverflowError
        return int.__new__(cls, value)

    def __add__(self, other): return Checked(int(self) + int(other))
    def __sub__(self, other): return Checked(int(self) - int(other))
    def __mul__(self, other): return Checked(int(self) * int(other))
    def __floordiv__(self, other): return Checked(int(self) // int(other))
    def __mod__(self, other): return Checked(int(self) % int(other))
    def __neg__(self): return Checked(-int(self))


def next_pow2(x):
    return Checked(1 if x <= 1 else 1 << (int(x) - 1).bit_length())


def value_of(text):
    import re
    names = {name: Checked(value) for name, value in AXES.items()}
    python = re.sub(r"(?<![\w])(\d+)", r"Checked(\1)", text.replace("/", "//"))
    try:
        return str(eval(python, {"Checked": Checked, "min": min, "max": max, "next_pow2": next_pow2, **names}))
    except OverflowError:
        return "overflow"
    except ZeroDivisionError:
        return "division by zero"


random.seed(20)
print("// Made by formula_vectors.py: formula, value for n = 20, ny = 512, nx = 1337, pad = -3.")
for _ in range(300):
    text = formula(4)
    print(f'{{"{text}", "{value_of(text)}"}},')
