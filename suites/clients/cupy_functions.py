"""One function of CuPy on a CUDA device, with CuPy's memory pool or without.

    cupy_functions.py [--pool on|off] [--calls N] [--account] FUNCTION N NY NX

The function takes a stack of n images of ny × nx, float32. With the pool off the driver is asked for each array; with
the pool on for what the pool wants to hold. Phases: `inputs` and `call`. `--account` prints what CuPy itself knows,
as one line of JSON: the most that was asked of the pool at a time, the most that the pool held, and the device's free
memory before and after: what is resident, contexts and kernels left out.
"""

import argparse
import contextlib
import json
import sys

import numpy as np
import peakmark

import cuda_device

SEED = 20260131


def functions(cupy):
    """Of each name: what is computed, a new array every time."""
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


def account_of(cupy):
    """A hook that adds up what the pool is asked for and what it takes from the driver."""

    class Account(cupy.cuda.memory_hook.MemoryHook):
        name = "peakmark"

        def __init__(self):
            self.sizes = {}
            self.asked = self.asked_peak = self.held_peak = 0

        def malloc_postprocess(self, **told):
            self.sizes[told["mem_ptr"]] = told["size"]
            self.asked += told["size"]
            self.asked_peak = max(self.asked_peak, self.asked)
            self.held_peak = max(self.held_peak, cupy.get_default_memory_pool().total_bytes())

        def free_postprocess(self, **told):
            self.asked -= self.sizes.pop(told["mem_ptr"], 0)

    return Account()


def run(asked):
    cupy = cuda_device.import_cupy()
    if asked.pool == "off":
        cupy.cuda.set_allocator(None)
    function = functions(cupy)[asked.function]
    values = np.random.default_rng(SEED).random((asked.n, asked.ny, asked.nx), dtype=np.float32) + 1
    if asked.account:
        # Contexts, modules and library handles come with the first use; they are no part of what is asked.
        function(cupy.asarray(values[:1, :8, :8]))
        cupy.get_default_memory_pool().free_all_blocks()
    free_before = cupy.cuda.runtime.memGetInfo()[0]
    account = account_of(cupy) if asked.account else contextlib.nullcontext()
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
        told = {"asked": account.asked_peak, "held": account.held_peak, "resident": free_before - free_after}
        print(json.dumps(told))


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
        parser.error("--account tells of the pool")
    run(asked)


if __name__ == "__main__":
    sys.exit(main())
