"""Estimators with the names and arguments of httomo-backends 1.1."""

import numpy as np


def _calc_memory_bytes_remove_stripe_ti(non_slice_dims_shape, dtype, **kwargs):
    return 2 * np.prod(non_slice_dims_shape) * dtype.itemsize, non_slice_dims_shape[1] * np.float64().itemsize


def _calc_memory_bytes_for_slices_paganin_filter(dims_shape, dtype, **kwargs):
    slices, rows, columns = dims_shape
    assert (rows, columns) == (10, 20)
    return (slices * rows * columns + 7) * dtype.itemsize


def _calc_memory_bytes_for_slices_cufft_of_few(dims_shape, dtype, **kwargs):
    if dims_shape[0] > 40:
        raise RuntimeError("CUFFT_INVALID_SIZE")
    return 8 * dims_shape[0]


def _calc_memory_bytes_for_slices_both(dims_shape, dtype, **kwargs):
    return 11 * dims_shape[0]


def _calc_memory_bytes_both(non_slice_dims_shape, dtype, **kwargs):
    return 22, 0


def _calc_padding_both(**kwargs):
    return 1, 1
