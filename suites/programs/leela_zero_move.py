"""Makes leela-zero, a Go program, choose one move: leela_zero_move.py CHANNELS BLOCKS, for a network whose weights are all 0.01."""

import os
import re
import subprocess
import sys
from pathlib import Path

POINTS, PLANES, WINOGRAD_TILES, WINOGRAD_ELEMENTS = 361, 18, 25, 36
# Without a line for this device and network, leela-zero compiles 290 kernels and times them.
TUNING = " -DKWG=16 -DKWI=2 -DMDIMA=8 -DMDIMC=8 -DMWG=16 -DNDIMB=8 -DNDIMC=8 -DNWG=16 -DSA=1 -DSB=1 -DSTRM=0 -DSTRN=0 -DTCE=0 -DVWM=2 -DVWN=2"

channels, blocks = map(int, sys.argv[1:])


def convolution(inputs: int, outputs: int, size: int) -> list[int]:
    """Returns the numbers of weights in the lines of a convolution: kernel, biases, means and variances."""
    return [size * size * inputs * outputs, outputs, outputs, outputs]


lines = convolution(PLANES, channels, 3) + 2 * blocks * convolution(channels, channels, 3)
lines += convolution(channels, 2, 1) + [2 * POINTS * (POINTS + 1), POINTS + 1]  # policy
lines += convolution(channels, 1, 1) + [POINTS * 256, 256, 256, 1]  # value
Path("weights.txt").write_text("1\n" + "".join("0.01 " * count + "\n" for count in lines))
Path("commands.txt").write_text("genmove b\nquit\n")

shown = subprocess.run(["clinfo", "--raw", "--prop", "CL_DEVICE"], capture_output=True, text=True, check=True).stdout
vendor, name, clock = (re.search(rf"CL_DEVICE_{fact} +(.*)", shown)[1] for fact in ("VENDOR", "NAME", "MAX_CLOCK_FREQUENCY"))
tuned = Path.home() / ".local/share/leela-zero/leelaz_opencl_tuning"
tuned.parent.mkdir(parents=True, exist_ok=True)
tuned.write_text(f"1;XgemmBatched;{channels};{WINOGRAD_TILES};{channels};{WINOGRAD_ELEMENTS};{TUNING};OpenCL: {vendor} {name} @ {clock}MHz\n")

os.dup2(os.open("commands.txt", os.O_RDONLY), 0)
os.execv("/usr/lib/leelaz/bin/leelaz", "leelaz --gtp --noponder --precision single --threads 1 --visits 2 --seed 1 --gpu 0 --weights weights.txt".split())
