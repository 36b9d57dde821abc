"""Estimators like those of httomo, for a method with input and output on the device; and some that fail."""

import os
import sys
import time

import numpy as np


def documented(slice_dim, other_dims, dtype, available_memory, **kwargs):
    assert isinstance(dtype, np.dtype)
    return available_memory // (2 * int(np.prod(other_dims)) * dtype.itemsize), dtype


direct = 2


def direct_of(scale=1):
    return 2 * scale


def module(other_dims, dtype, radius=0, **kwargs):
    assert isinstance(other_dims, tuple)
    return 2 * int(np.prod(other_dims)) * dtype.itemsize, radius


def of_variant(other_dims, dtype, variant, **kwargs):
    return len(variant), 0


def iterative(dims, dtype, **kwargs):
    assert len(dims) == 3
    return 2 * np.prod(np.asarray(dims, dtype=np.int64)) * dtype.itemsize


def named(other_dims, dtype, **kwargs):
    image = int(np.prod(other_dims)) * dtype.itemsize
    return {"input": (image, 0), "output": (image, 0), "tables": (0, 50)}


def named_in_a_list(other_dims, dtype, **kwargs):
    return [(name, *numbers) for name, numbers in named(other_dims, dtype).items()]


def named_iterative(dims, dtype, **kwargs):
    return {"images": iterative(dims, dtype), "tables": 50}


def named_with(terms):
    return lambda other_dims, dtype, **kwargs: terms


named_negative = named_with({"input": (-1, 0)})
named_number = named_with({"input": 800})
named_by_number = named_with({7: (800, 0)})
named_nothing = named_with({})


def output_dims(other_dims, **kwargs):
    return other_dims[0] * 2, other_dims[1]


def padding(radius=0, **kwargs):
    return radius, radius


def module_with(per_slice, fixed=0):
    return lambda other_dims, dtype, **kwargs: (per_slice, fixed)


negative = module_with(-1)
negative_fixed = module_with(1, -1)
nan = module_with(float("nan"))
infinite = module_with(float("inf"))
zero = module_with(0)
too_large = module_with(2**63)
numpy_integers = module_with(np.int64(1600), np.float32(0.5))
a_text = module_with("800")
a_truth = module_with(True)


large_int32 = module_with(np.int32(2**31 - 1), np.int32(2**31 - 1))
large_int64 = module_with(np.int64(2**53 + 1))
large_longdouble = module_with(np.longdouble(2**53) + 1)
numpy_nan = module_with(np.float32("nan"))
numpy_infinite = module_with(np.float16("inf"))
a_numpy_truth = module_with(np.True_)
half = 2.5
almost_nothing = 1e-300
int8_direct = np.int8(100)
float32_direct = np.float32(1.1)


def fractional_slices(slice_dim, other_dims, dtype, available_memory, **kwargs):
    return available_memory / 2.768, dtype


def numpy_slices(slice_dim, other_dims, dtype, available_memory, **kwargs):
    return np.int64(2**53 + 1), dtype


def raises_a_surrogate(other_dims, dtype, **kwargs):
    raise OSError("cannot read caf\udce9.txt")


def one_number(other_dims, dtype, **kwargs):
    return 800


def same_bytes(dims, dtype, **kwargs):
    return 800


def no_dtype(slice_dim, other_dims, dtype, available_memory, **kwargs):
    return 1, None


def strange_dtype(slice_dim, other_dims, dtype, available_memory, **kwargs):
    return 1, "float33"


def never_more_than_three(slice_dim, other_dims, dtype, available_memory, **kwargs):
    return min(3, available_memory // 800), dtype


def raises(other_dims, dtype, **kwargs):
    raise ZeroDivisionError("of its own making")


def leaves(other_dims, dtype, **kwargs):
    sys.exit(3)


def prints(other_dims, dtype, **kwargs):
    print("said on the way")
    os.write(1, b"and this\n")
    return 1600, 0


def dies(other_dims, dtype, **kwargs):
    os.write(2, b"the last words\n")
    os._exit(9)


def hangs(other_dims, dtype, **kwargs):
    time.sleep(1000)


def negative_slices(slice_dim, other_dims, dtype, available_memory, **kwargs):
    return (available_memory - 1000) // 800, dtype
