"""A program of CuPy that knows its device memory: `cupy_memory.py pool|no-pool`, recorded by gpu-check.

no-pool: the driver is asked for each array, so the recorded peak must be the sum of the arrays' bytes. pool: the
recorded peak must be the bytes that CuPy's pool holds. Prints {"peak_bytes": …}; exits 77 without CuPy.
"""

import json
import sys

SIZES = (64 << 20, 10_000_001, 4096, 3)  # bytes
FREED = 50_000_003

try:
    import cupy
except ImportError as error:
    print(f"CuPy is not installed: {error}")
    sys.exit(77)

mode = sys.argv[1]
if mode == "no-pool":
    cupy.cuda.set_allocator(None)
freed = cupy.zeros(FREED, dtype="uint8")
del freed
arrays = [cupy.zeros(size, dtype="uint8") for size in SIZES]
cupy.cuda.Device().synchronize()
print(f"CuPy {cupy.__version__}, {mode}: arrays of {', '.join(map(str, SIZES))} bytes, after one of {FREED}")
pool = cupy.get_default_memory_pool()
print(json.dumps({"peak_bytes": sum(SIZES) if mode == "no-pool" else pool.total_bytes()}))
