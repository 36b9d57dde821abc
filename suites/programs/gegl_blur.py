"""Blurs an image of NY × NX pixels with GEGL: gegl_blur.py NY NX RADIUS."""

import subprocess
import sys
from pathlib import Path

ny, nx, radius = map(int, sys.argv[1:])
pixels = bytes((7 * x + 13 * y + 5 * (x * y % 11)) % 256 for y in range(ny) for x in range(3 * nx))
Path("image.ppm").write_bytes(f"P6\n{nx} {ny}\n255\n".encode() + pixels)
sys.exit(subprocess.run(["gegl", "image.ppm", "-o", "blurred.ppm", "--", "box-blur", f"radius={radius}"], check=False).returncode)
