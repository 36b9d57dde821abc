"""Computes a top-hat with pyclesperanto: pyclesperanto_tophat.py NZ NY NX."""

import sys

import numpy as np
import pyclesperanto

shape = tuple(map(int, sys.argv[1:]))
image = pyclesperanto.push(np.random.default_rng(1).random(shape, np.float32))
print(f"{float(pyclesperanto.pull(pyclesperanto.top_hat(image, radius_x=2, radius_y=2, radius_z=1)).max()):.3f}")
