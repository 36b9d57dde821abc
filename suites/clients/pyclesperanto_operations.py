"""Runs one operation of pyclesperanto or its prototype, whichever is installed, on an OpenCL device.

    pyclesperanto_operations.py [--device NAME] [--calls N] [--unchecked] OPERATION NZ NY NX

Pushes an image of nz × ny × nx f32, calls the operation, which allocates its result, pulls the result and compares it with
numpy's. `create` and `push` have no input on the device; of the uninitialised result of `create`, only the shape is compared.
Phases: `inputs`, `call`, `end`; the result of a call is released before the next call. Record with `--sync`: the libraries do
not wait for their kernels, and released memory stays live until these end.
"""

import argparse
import functools
import sys

import numpy as np

import peakmark
from client_program import chosen_device, device_index, exit_code, unsupported

try:
    import pyclesperanto as cle
except ImportError:
    import pyclesperanto_prototype as cle

SEED = 20260131
WITHOUT_DEVICE_INPUT = ("create", "push")
MAX_DIFFERENCE = 1e-4  # of values up to 1, in single precision and different order


def along_axes(combine, image, radius):
    """Applies `combine` to the images shifted by -radius … radius, axis by axis; pads with the nearest element."""
    for axis in range(image.ndim):
        pads = [(radius, radius) if one == axis else (0, 0) for one in range(image.ndim)]
        padded = np.pad(image, pads, mode="edge")
        image = combine(padded.take(range(step, step + image.shape[axis]), axis) for step in range(2 * radius + 1))
    return image


def blurred(image, sigma):
    radius = int(4 * sigma) + 3
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    weights /= weights.sum()
    return along_axes(lambda moved: sum(weight * one for weight, one in zip(weights, moved)), image, radius)


def opened(image, radius):
    """Returns the morphological opening, which top-hat subtracts: the max of the min."""
    eroded = along_axes(lambda moved: functools.reduce(np.minimum, moved), image, radius)
    return along_axes(lambda moved: functools.reduce(np.maximum, moved), eroded, radius)


# Each operation of the library, and the same with numpy.
OPERATIONS = {
    "create": (lambda image: cle.create(image.shape), None),
    "push": (cle.push, lambda image: image),
    "pull": (lambda image: image, lambda image: image),
    "gaussian_blur": (
        lambda image: cle.gaussian_blur(image, sigma_x=2, sigma_y=2, sigma_z=2),
        lambda image: blurred(image, 2),
    ),
    "transpose": (cle.transpose_xy, lambda image: image.transpose(0, 2, 1)),
    "mean_box": (
        lambda image: cle.mean_box(image, radius_x=1, radius_y=1, radius_z=1),
        lambda image: along_axes(lambda moved: sum(moved) / 3, image, 1),
    ),
    "top_hat": (
        lambda image: cle.top_hat_box(image, radius_x=2, radius_y=2, radius_z=2),
        lambda image: image - opened(image, 2),
    ),
    "difference_of_gaussian": (
        lambda image: cle.difference_of_gaussian(
            image, sigma1_x=1, sigma1_y=1, sigma1_z=1, sigma2_x=3, sigma2_y=3, sigma2_z=3
        ),
        lambda image: blurred(image, 1) - blurred(image, 3),
    ),
    "max_z_projection": (cle.maximum_z_projection, lambda image: image.max(axis=0)),
    "sum_all_pixels": (cle.sum_of_all_pixels, lambda image: image.sum(dtype=np.float64)),
}


def select_device_of_run():
    if hasattr(cle, "list_available_devices"):
        chosen_device(cle.list_available_devices())
        cle.select_device(device_index())
        return
    import pyopencl  # the prototype uses it

    chosen_device([device for platform in pyopencl.get_platforms() for device in platform.get_devices()])
    # The prototype sorts devices by score; with equal scores they stay in the loader's order.
    cle.select_device(score_key=lambda device: 0, device_index=device_index())


def select_device(name):
    """Selects the device with this name, else that of the run. For an unknown name the libraries would select any device."""
    if name is None:
        if device_index() is not None:
            select_device_of_run()
        return
    list_names = getattr(cle, "list_available_devices", None) or cle.available_device_names
    names = list(list_names())
    if name not in names:
        unsupported(f"device not found: '{name}'; there are {', '.join(names)}")
    cle.select_device(name)


def compare_with_numpy(pulled, image, answer):
    """Returns what is wrong with the result, or None."""
    wanted = image if answer is None else answer(image)
    if pulled.shape != wanted.shape:
        return f"the result has shape {pulled.shape}, numpy's has {wanted.shape}"
    if answer is None:
        return None
    difference = np.abs(pulled - wanted).max() / max(1.0, np.abs(wanted).max())
    return f"differs from numpy's by {difference:.1e}" if difference > MAX_DIFFERENCE else None


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="its name, as the library lists it; default: that of `peakmark run`, else the library's own choice")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--unchecked", action="store_true", help="do not compare with numpy, which is slow")
    parser.add_argument("operation", choices=OPERATIONS)
    parser.add_argument("shape", type=int, nargs=3)
    return parser.parse_args(words)


def find_error(asked):
    """Runs the calls. Returns what is wrong with the result, or None."""
    select_device(asked.device)
    ask, answer = OPERATIONS[asked.operation]
    image = np.random.default_rng(SEED).random(asked.shape, dtype=np.float32)
    given = image
    if asked.operation not in WITHOUT_DEVICE_INPUT:
        with peakmark.phase("inputs"):
            given = cle.push(image)
    for _ in range(asked.calls):
        result = None
        with peakmark.phase("call"):
            result = ask(given)
            pulled = np.asarray(result if np.isscalar(result) else cle.pull(result))
    return None if asked.unchecked else compare_with_numpy(pulled, image, answer)


def main():
    asked = parse(sys.argv[1:])
    error = find_error(asked)
    return exit_code(error and f"{asked.operation}: {error}")


if __name__ == "__main__":
    sys.exit(main())
