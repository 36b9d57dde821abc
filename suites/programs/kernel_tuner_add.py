"""Tunes the block size of a vector addition with kernel-tuner: kernel_tuner_add.py N."""

import sys

import kernel_tuner
import numpy as np

SOURCE = """__kernel void add(__global float* c, __global const float* a, __global const float* b, int n) {
  const int i = get_group_id(0) * block_size_x + get_local_id(0);
  if (i < n) c[i] = a[i] + b[i];
}"""
n = int(sys.argv[1])
a, b = np.random.default_rng(1).random((2, n), np.float32)
results, _ = kernel_tuner.tune_kernel(
    "add", SOURCE, n, [np.zeros_like(a), a, b, np.int32(n)], {"block_size_x": [32, 64, 128]}, answer=[a + b, None, None, None], lang="opencl", quiet=True
)
print(sorted(one["block_size_x"] for one in results))
