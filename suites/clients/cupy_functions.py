"""Calls one function of CuPy on a CUDA device, with or without CuPy's memory pool.

    cupy_functions.py [--pool on|off] [--calls N] [--account] FUNCTION N NY NX

The function gets a stack of n images of ny × nx, float32. With the pool off, each array is allocated from the driver. Phases:
`inputs` and `call`. `--account` prints CuPy's own figures as one line of JSON, in bytes: the max that was requested from the pool
at a time (asked), the max that the pool held (held), and the decrease of the device's free memory without contexts and kernels
(resident).
"""

import argparse
import contextlib
import json
import sys

import numpy as np
import peakmark

import client_program

SEED = 20260131


def functions(cupy):
    """Returns the functions by name. Each returns a new array."""
    from cupyx.scipy import ndimage

    return {
        "fft2": lambda images: cupy.fft.ifft2(cupy.fft.fft2(images)).real,
        "matmul": lambda images: images @ images.swapaxes(1, 2),
        "sort": lambda images: cupy.sort(images, axis=0),
        "gaussian_filter": lambda images: ndimage.gaussian_filter(images, 2),
        "median_filter": lambda images: ndimage.median_filter(images, 3),
        "minus_log": lambda images: -cupy.log(images),
        "sum": lambda images: images.sum(axis=0),
    }


NAMES = ["fft2", "matmul", "sort", "gaussian_filter", "median_filter", "minus_log", "sum"]


def make_account(cupy):
    """Returns a memory hook that sums what is requested from the pool and what the pool holds."""

    class Account(cupy.cuda.memory_hook.MemoryHook):
        name = "peakmark"

        def __init__(self):
            self.sizes = {}
            self.asked = self.asked_peak = self.held_peak = 0

        def malloc_postprocess(self, **event):
            self.sizes[event["mem_ptr"]] = event["size"]
            self.asked += event["size"]
            self.asked_peak = max(self.asked_peak, self.asked)
            self.held_peak = max(self.held_peak, cupy.get_default_memory_pool().total_bytes())

        def free_postprocess(self, **event):
            self.asked -= self.sizes.pop(event["mem_ptr"], 0)

    return Account()


def run(asked):
    cupy = client_program.import_cupy()
    if asked.pool == "off":
        cupy.cuda.set_allocator(None)
    function = functions(cupy)[asked.function]
    values = np.random.default_rng(SEED).random((asked.n, asked.ny, asked.nx), dtype=np.float32) + 1
    if asked.account:
        # The first use creates contexts, modules and library handles, which must not count.
        function(cupy.asarray(values[:1, :8, :8]))
        cupy.get_default_memory_pool().free_all_blocks()
    free_before = cupy.cuda.runtime.memGetInfo()[0]
    account = make_account(cupy) if asked.account else contextlib.nullcontext()
    with account:
        with peakmark.phase("inputs"):
            images = cupy.asarray(values)
        for _ in range(asked.calls):
            _result = None
            with peakmark.phase("call"):
                _result = function(images)
                cupy.cuda.Device().synchronize()
    free_after = cupy.cuda.runtime.memGetInfo()[0]
    if asked.account:
        print(json.dumps({"asked": account.asked_peak, "held": account.held_peak, "resident": free_before - free_after}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", choices=["on", "off"], default="on")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--account", action="store_true")
    parser.add_argument("function", choices=NAMES)
    parser.add_argument("n", type=int)
    parser.add_argument("ny", type=int)
    parser.add_argument("nx", type=int)
    asked = parser.parse_args()
    if asked.account and asked.pool == "off":
        parser.error("--account needs --pool on")
    run(asked)


if __name__ == "__main__":
    sys.exit(main())
