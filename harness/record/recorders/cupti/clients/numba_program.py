"""numba_program.py [leak]: arrays of numba-cuda, and a kernel. Prints its own accounting as JSON."""
import json
import sys

import numpy as np
import peakmark
from numba import cuda


@cuda.jit
def add(left, right, total):
    place = cuda.grid(1)
    if place < total.size:
        total[place] = left[place] + right[place]


def release():
    """Releases what numba would release later."""
    cuda.current_context().memory_manager.deallocations.clear()


def sums(elements):
    """Returns the bytes that are live at the peak: three arrays, and one of another type after the first is gone."""
    host = np.arange(elements, dtype=np.float64)
    left = cuda.to_device(host)
    right = cuda.device_array_like(left)
    total = cuda.device_array(elements, dtype=np.float64)
    add[(elements + 255) // 256, 256](left, right, total)
    assert np.array_equal(left.copy_to_host(), host)  # what was copied there; kernels of a fake do nothing
    peak = left.nbytes + right.nbytes + total.nbytes
    del left
    release()
    small = cuda.device_array((100, 3), dtype=np.uint8)
    del right, total, small
    release()
    return peak


def kinds():
    pinned = cuda.pinned_array(1000, dtype=np.float32)
    mapped = cuda.mapped_array(500, dtype=np.float32)
    managed = cuda.managed_array(700, dtype=np.float64)
    return {"host": pinned.nbytes + mapped.nbytes, "managed": managed.nbytes}


kept = []


def leak():
    kept.append(cuda.device_array(4096, dtype=np.uint8))
    cuda.device_array(100_000, dtype=np.uint8)
    release()


def main():
    if sys.argv[1:] == ["leak"]:
        peakmark.repeat_call(leak)
        return
    if sys.argv[1:] == ["kinds"]:
        books = kinds()
    else:
        books = {"peak": sums(1_000_003)}
    print(json.dumps({"device": cuda.gpus[0].name, **books}))


if __name__ == "__main__":
    main()
