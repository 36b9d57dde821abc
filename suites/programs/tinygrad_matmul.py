"""Multiplies two matrices with tinygrad: tinygrad_matmul.py N."""

import sys

import numpy as np
from tinygrad import Tensor

n = int(sys.argv[1])
left, right = np.random.default_rng(1).random((2, n, n), np.float32)
product = (Tensor(left) @ Tensor(right)).relu().numpy()
print(np.allclose(product, left @ right, rtol=1e-4))
