"""Prints how much device memory a program of CuPy or torch uses; gpu-check records it and compares.

    package_memory.py cupy pool|no-pool
    package_memory.py torch cache|no-cache

pool, cache: the package's pool allocates from the driver, so the recorded peak must be the bytes that the pool holds.
no-pool, no-cache: each array is allocated from the driver, so the recorded peak must be the sum of the arrays' bytes.
Prints {"peak_bytes": …}. Exit code 77 if the package is not installed.
"""

import json
import os
import sys

SIZES = (64 << 20, 10_000_001, 4096, 3)  # bytes
FREED = 50_000_003


def cupy_peak(mode: str) -> int:
    try:
        import cupy
    except ImportError as error:
        print(f"CuPy is not installed: {error}")
        sys.exit(77)
    if mode == "no-pool":
        cupy.cuda.set_allocator(None)
    freed = cupy.zeros(FREED, dtype="uint8")
    del freed
    arrays = [cupy.zeros(size, dtype="uint8") for size in SIZES]
    cupy.cuda.Device().synchronize()
    print(f"CuPy {cupy.__version__}, {mode}: {len(arrays)} arrays of {', '.join(map(str, SIZES))} bytes, after one of {FREED}")
    return sum(SIZES) if mode == "no-pool" else cupy.get_default_memory_pool().total_bytes()


def torch_peak(mode: str) -> int:
    if mode == "no-cache":
        os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"  # read when the allocator is first used
    try:
        import torch
    except ImportError as error:
        print(f"torch is not installed: {error}")
        sys.exit(77)
    if not torch.cuda.is_available():
        print("this torch has no CUDA")
        sys.exit(77)
    # `empty` launches no kernel. A kernel would load a module of torch, whose globals are device memory too.
    freed = torch.empty(FREED, dtype=torch.uint8, device="cuda")
    del freed
    tensors = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in SIZES]
    torch.cuda.synchronize()
    print(f"torch {torch.__version__}, {mode}: {len(tensors)} tensors of {', '.join(map(str, SIZES))} bytes, after one of {FREED}")
    return sum(SIZES) if mode == "no-cache" else torch.cuda.max_memory_reserved()


if __name__ == "__main__":
    package, mode = sys.argv[1:]
    print(json.dumps({"peak_bytes": cupy_peak(mode) if package == "cupy" else torch_peak(mode)}))
