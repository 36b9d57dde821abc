"""Trains LightGBM's trees on an OpenCL device: lightgbm_train.py ROWS FEATURES."""

import sys

import lightgbm
import numpy as np

rows, features = map(int, sys.argv[1:])
data = np.random.default_rng(1).random((rows, features), np.float32)
options = {"device_type": "gpu", "max_bin": 63, "verbose": -1, "num_threads": 1, "seed": 1, "deterministic": True}
model = lightgbm.train(options, lightgbm.Dataset(data, data[:, 0]), 5)
print(f"{float(np.abs(model.predict(data) - data[:, 0]).mean()):.2f}")
