"""Runs reconstruct_phantom (PROGRAM), reads its output with numpy, and compares the slice with the phantom."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

with tempfile.TemporaryDirectory() as folder:
    slice_file, truth_file = Path(folder) / "slice.npy", Path(folder) / "truth.npy"
    for scan, side in [("half_turn", 96), ("half_acquisition", 183)]:
        subprocess.run(
            [sys.argv[1], "--n_a", "300", "--w", "96", "--scan", scan, "-o", slice_file, "--truth", truth_file],
            check=True,
        )
        image, truth = numpy.load(slice_file), numpy.load(truth_file)
        assert image.shape == truth.shape == (side, side) and image.dtype == numpy.float32, image.shape
        off = numpy.sqrt(numpy.mean((image - truth) ** 2))
        assert off < 0.1, off
        assert truth.max() == 1 and abs(truth[side // 2, side // 2 + side // 10]) < 0.21
    wrong = subprocess.run([sys.argv[1], "-o", slice_file, "--filter", "ramlack"], stderr=subprocess.PIPE, text=True)
    assert wrong.returncode == 2 and "'ramlak'" in wrong.stderr, wrong
