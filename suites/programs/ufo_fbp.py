"""Reconstructs a slice from N × N/2 projections with ufo-launch: ufo_fbp.py N."""

import struct
import subprocess
import sys
from pathlib import Path

n = int(sys.argv[1])
rows = n // 2
# A TIFF file of one page of f32: a wedge.
values = struct.pack(f"<{rows * n}f", *((x % 17) / 17 for _ in range(rows) for x in range(n)))
tags = [(256, 4, n), (257, 4, rows), (258, 3, 32), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1), (278, 4, rows), (279, 4, len(values)), (339, 3, 3)]
directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", tag, kind, 1, one) for tag, kind, one in tags) + struct.pack("<I", 0)
Path("sinogram.tif").write_bytes(struct.pack("<2sHI", b"II", 42, 8 + len(values)) + values + directory)
chain = f"read path=sinogram.tif ! fft dimensions=1 ! filter ! ifft dimensions=1 ! backproject mode=nearest axis-pos={n / 2} angle-step={3.14159 / rows:.6f} ! write filename=slice.tif"
sys.exit(subprocess.run(["ufo-launch", "--quieter", *chain.split()], check=False).returncode)
