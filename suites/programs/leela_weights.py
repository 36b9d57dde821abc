"""Writes random weights of leela-zero, one residual block of F filters, and asks it for a move: leela_weights.py LEELAZ F."""

import random
import subprocess
import sys
from pathlib import Path

leelaz, filters = sys.argv[1], int(sys.argv[2])
POINTS, PLANES, MOVES, HIDDEN = 361, 18, 362, 256
random.seed(1)


def numbers(count, low=-0.1, high=0.1):
    return " ".join(f"{random.uniform(low, high):.4f}" for _ in range(count))


def convolution(inputs, outputs, side):
    """Returns the lines of a convolution: weights, biases, means and variances."""
    weights = numbers(inputs * outputs * side * side)
    return [weights, numbers(outputs), numbers(outputs), numbers(outputs, 0.5, 1)]


lines = ["1", *convolution(PLANES, filters, 3), *convolution(filters, filters, 3), *convolution(filters, filters, 3)]
lines += [*convolution(filters, 2, 1), numbers(MOVES * 2 * POINTS), numbers(MOVES)]
lines += [*convolution(filters, 1, 1), numbers(HIDDEN * POINTS), numbers(HIDDEN), numbers(HIDDEN), numbers(1)]
Path("weights.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
asked = [leelaz, "-g", "--gpu", "0", "-t", "1", "-p", "4", "--noponder", "-w", "weights.txt", "-s", "1", "--precision", "single"]
done = subprocess.run(asked, input="genmove b\nquit\n", text=True, stdout=subprocess.PIPE, check=False)
sys.exit(done.returncode)
