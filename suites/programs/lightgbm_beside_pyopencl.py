"""Allocates BYTES with pyopencl, then trains LightGBM's trees in the same process: lightgbm_beside_pyopencl.py BYTES ROWS FEATURES."""

import runpy
import sys
from pathlib import Path

import pyopencl

context = pyopencl.create_some_context(interactive=False)
held = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, int(sys.argv.pop(1)))
runpy.run_path(str(Path(__file__).with_name("lightgbm_train.py")))
held.release()
