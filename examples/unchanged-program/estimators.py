"""An estimator of the memory of `mean`, like those of httomo."""


def mean(other_dimensions, dtype):
    """Returns bytes per slice (an image) and fixed bytes (the mean)."""
    ny, nx = other_dimensions
    return ny * nx * dtype.itemsize, ny * nx * dtype.itemsize
