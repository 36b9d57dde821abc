"""Blurs and thresholds an image with OpenCV's transparent API: opencv_blur.py NY NX."""

import sys

import cv2
import numpy as np

ny, nx = map(int, sys.argv[1:])
cv2.setNumThreads(1)
cv2.ocl.setUseOpenCL(True)
image = (np.random.default_rng(1).random((ny, nx)) * 255).astype(np.uint8)
blurred = cv2.GaussianBlur(cv2.UMat(image), (7, 7), 1.5)
edges = cv2.Canny(blurred, 50, 100)
print(cv2.ocl.useOpenCL(), edges.get().shape, np.abs(blurred.get().astype(int) - cv2.GaussianBlur(image, (7, 7), 1.5)).max() <= 1)
