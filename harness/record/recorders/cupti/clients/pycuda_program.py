"""pycuda_program.py [leak|batch BYTES]: PyCUDA's memory pool, arrays and a compiled kernel. Prints its own accounting as JSON."""
import json
import sys

import numpy as np
import peakmark
import pycuda.driver as cuda
from pycuda import gpuarray, tools

cuda.init()
context = cuda.Device(0).make_context()


def pool():
    """Returns the pool's own figure and the bytes of the two arrays besides it."""
    memory = tools.DeviceMemoryPool()
    blocks = [memory.allocate(size) for size in (1, 1000, 65_536, 1_000_000, 7_000_001)]
    blocks.pop(2).free()
    array = gpuarray.zeros(1_000_000, np.float32, allocator=memory.allocate)
    host = np.arange(500_000, dtype=np.float64)
    outside = cuda.mem_alloc(host.nbytes)
    cuda.memcpy_htod(outside, host)
    back = np.empty_like(host)
    cuda.memcpy_dtoh(back, outside)
    assert np.array_equal(host, back)
    other = gpuarray.to_gpu(np.ones(1_000_000, np.float32))
    assert other.get().sum() == 1_000_000
    books = {"peak": memory.managed_bytes + host.nbytes + other.nbytes, "active": memory.active_bytes}
    assert array.nbytes == 4_000_000
    for block in blocks:
        block.free()
    return books


def kernel():
    from pycuda.compiler import SourceModule

    module = SourceModule(
        "__device__ float table[100]; __global__ void twice(float* x) { x[threadIdx.x] = 2 * x[threadIdx.x] + table[0]; }",
        options=["-arch=sm_90"], no_extern_c=False)
    table, size = module.get_global("table")
    assert size == 400
    cuda.memcpy_htod(table, np.ones(100, np.float32))
    twice = module.get_function("twice")
    array = gpuarray.to_gpu(np.arange(256, dtype=np.float32))
    twice(array, block=(256, 1, 1), grid=(1, 1))
    start, end = cuda.Event(), cuda.Event()
    start.record()
    twice(array, block=(256, 1, 1))
    end.record()
    end.synchronize()
    assert start.time_till(end) >= 0
    return {"peak": array.nbytes, "registers": twice.num_regs}


kept = []


def leak():
    kept.append(cuda.mem_alloc(12_345))
    cuda.mem_alloc(1_000_000).free()


def batch(size):
    try:
        block = cuda.mem_alloc(size)
    except cuda.MemoryError as error:
        print(f"error: {error}", file=sys.stderr)
        context.pop()
        raise SystemExit(1) from None
    block.free()
    return {"peak": size}


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else "pool"
    if word == "leak":
        peakmark.repeat_call(leak)
        books = {}
    elif word == "batch":
        books = batch(int(sys.argv[2]))
    else:
        books = {"pool": pool, "kernel": kernel}[word]()
    print(json.dumps({"device": cuda.Device(0).name(), **books}))
    context.pop()


if __name__ == "__main__":
    main()
