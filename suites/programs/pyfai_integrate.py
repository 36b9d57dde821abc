"""Integrates an image of N × N pixels azimuthally with pyFAI's OpenCL engine: pyfai_integrate.py N."""

import sys

import numpy as np
from pyFAI.detectors import Detector
from pyFAI.integrator.azimuthal import AzimuthalIntegrator

n = int(sys.argv[1])
image = np.random.default_rng(1).random((n, n), np.float32)
integrator = AzimuthalIntegrator(
    dist=0.1, poni1=0.05, poni2=0.05, detector=Detector(1e-4, 1e-4, max_shape=image.shape), wavelength=1e-10
)
result = integrator.integrate1d(image, 50, unit="q_nm^-1", method=("bbox", "csr", "opencl"))
print(f"{float(result.intensity.sum()):.3f}", result.method.impl_lower)
