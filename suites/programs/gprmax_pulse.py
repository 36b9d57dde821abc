"""Simulates a pulse in a box of NX × NY × 1 cells with gprMax on an OpenCL device: gprmax_pulse.py NX NY."""

import subprocess
import sys
from pathlib import Path

nx, ny = map(int, sys.argv[1:])
Path("pulse.in").write_text(
    f"""#title: pulse
#domain: {nx * 0.002:.3f} {ny * 0.002:.3f} 0.002
#dx_dy_dz: 0.002 0.002 0.002
#time_window: 30
#waveform: ricker 1 1.5e9 mypulse
#hertzian_dipole: z {nx * 0.001:.3f} {ny * 0.001:.3f} 0 mypulse
#rx: {nx * 0.0014:.3f} {ny * 0.001:.3f} 0
""",
    encoding="utf-8",
)
sys.exit(subprocess.run([sys.executable, "-m", "gprMax", "pulse.in", "-opencl", "0"], check=False).returncode)
