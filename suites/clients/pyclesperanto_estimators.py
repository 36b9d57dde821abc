"""What pyclesperanto and its prototype take for an image of float32, when every kernel is waited for.

They return (bytes a plane of z, bytes beside). The library has no memory query; these are images counted in its
sources and recorded.
"""

ELEMENT = 4
# Images that live at once, the input among them: in 0.25.1, in the prototype 0.24.6.
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
# What 0.25.1 sums in, whatever the image.
BYTES_OF_A_SUM = 262_144


def _operation(plane_shape, operation, which, sum_beside):
    plane = ELEMENT * plane_shape[0] * plane_shape[1]
    if operation == "max_z_projection":
        return plane, plane
    if operation == "sum_all_pixels":
        return plane, sum_beside
    return IMAGES[operation][which] * plane, 0


def pyclesperanto(non_slice_dims, _dtype, *, operation):
    return _operation(non_slice_dims, operation, 0, BYTES_OF_A_SUM)


def prototype(non_slice_dims, _dtype, *, operation):
    """Its sum goes along z, then y: a plane, and a line of it."""
    ny, nx = non_slice_dims
    return _operation(non_slice_dims, operation, 1, ELEMENT * (ny * nx + nx))
