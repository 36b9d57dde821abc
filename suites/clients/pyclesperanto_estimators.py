"""Formulas of the memory of pyclesperanto and its prototype for a float32 image, if every kernel is waited for.

They return (bytes per plane of z, fixed bytes). The libraries have no memory query; the numbers of images are from their sources
and from recordings.
"""

ELEMENT = 4
# Images that are live at once, with the input: in 0.25.1, in the prototype 0.24.6.
IMAGES = {
    "create": (1, 1),
    "push": (1, 1),
    "pull": (1, 1),
    "gaussian_blur": (3, 4),
    "transpose": (2, 2),
    "mean_box": (3, 4),
    "top_hat": (4, 6),
    "difference_of_gaussian": (5, 6),
}
# Work buffer of a sum in 0.25.1, for any image.
SUM_BYTES = 262_144


def _operation(plane_shape, operation, which, sum_bytes):
    plane = ELEMENT * plane_shape[0] * plane_shape[1]
    if operation == "max_z_projection":
        return plane, plane
    if operation == "sum_all_pixels":
        return plane, sum_bytes
    return IMAGES[operation][which] * plane, 0


def pyclesperanto(non_slice_dims, _dtype, *, operation):
    return _operation(non_slice_dims, operation, 0, SUM_BYTES)


def prototype(non_slice_dims, _dtype, *, operation):
    """The prototype sums along z, then y: it needs a plane and a line."""
    ny, nx = non_slice_dims
    return _operation(non_slice_dims, operation, 1, ELEMENT * (ny * nx + nx))
