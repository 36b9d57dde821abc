"""One operation of pyclesperanto, or of its prototype, whichever is installed, on an OpenCL device.

    pyclesperanto_operations.py [--device NAME] [--calls N] [--unchecked] OPERATION NZ NY NX

An image of nz × ny × nx f32 is pushed, the operation makes its own result, the result is pulled and compared with
numpy's. `create` and `push` have no input on the device; what `create` makes is not initialised, and only its shape is
looked at. Phases: `inputs`, `call`, `end`; the result of a call is gone before the next. Record it with `--sync`: the
libraries do not wait for their kernels, and what they have released lives on until those are done.
"""

import argparse
import functools
import sys

import numpy as np
import opencl_device
import peakmark
from one_case import ended

try:
    import pyclesperanto as cle
except ImportError:
    import pyclesperanto_prototype as cle

SEED = 20260131
OF_HOST_MEMORY = ("create", "push")
MOST_DIFFERENCE = 1e-4  # of values up to 1; single precision, another order


def along_axes(combine, image, radius):
    """`combine` of the images moved by -radius … radius, axis by axis; what lies outside is the nearest element."""
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
    """The greatest of the least: an opening, as top-hat takes it away."""
    least = along_axes(lambda moved: functools.reduce(np.minimum, moved), image, radius)
    return along_axes(lambda moved: functools.reduce(np.maximum, moved), least, radius)


# Of each: how the library is asked, and numpy's answer.
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
        opencl_device.chosen_of(cle.list_available_devices())
        cle.select_device(opencl_device.index())
        return
    import pyopencl  # which the prototype is made of

    opencl_device.chosen_of([device for platform in pyopencl.get_platforms() for device in platform.get_devices()])
    # It sorts the devices by their scores: where all are alike, they stay in the loader's order.
    cle.select_device(score_key=lambda device: 0, device_index=opencl_device.index())


def select_device(name):
    """That of the name, else that of the run. The libraries take any where none has that name, without a word."""
    if name is None:
        if opencl_device.index() is not None:
            select_device_of_run()
        return
    list_names = getattr(cle, "list_available_devices", None) or cle.available_device_names
    names = list(list_names())
    if name not in names:
        print(f"there is no device '{name}', only {', '.join(names)}")
        sys.exit(peakmark.UNSUPPORTED)
    cle.select_device(name)


def difference_of(pulled, image, answer):
    """What is wrong with the result, or None."""
    wanted = image if answer is None else answer(image)
    if pulled.shape != wanted.shape:
        return f"the result has the shape {pulled.shape}, numpy's {wanted.shape}"
    if answer is None:
        return None
    difference = np.abs(pulled - wanted).max() / max(1.0, np.abs(wanted).max())
    return f"differs from numpy's by {difference:.1e}" if difference > MOST_DIFFERENCE else None


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="its name, as the library lists it; default: that of `peakmark run`, else the library's own choice")
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--unchecked", action="store_true", help="do not compare with numpy, which is slow")
    parser.add_argument("operation", choices=OPERATIONS)
    parser.add_argument("shape", type=int, nargs=3)
    return parser.parse_args(words)


def mistake_in(asked):
    """Runs what is asked. None, or what is wrong with the result."""
    select_device(asked.device)
    ask, answer = OPERATIONS[asked.operation]
    image = np.random.default_rng(SEED).random(asked.shape, dtype=np.float32)
    given = image
    if asked.operation not in OF_HOST_MEMORY:
        with peakmark.phase("inputs"):
            given = cle.push(image)
    for _ in range(asked.calls):
        result = None
        with peakmark.phase("call"):
            result = ask(given)
            pulled = np.asarray(result if np.isscalar(result) else cle.pull(result))
    return None if asked.unchecked else difference_of(pulled, image, answer)


def main():
    asked = parse(sys.argv[1:])
    mistake = mistake_in(asked)
    return ended(mistake and f"{asked.operation}: {mistake}")


if __name__ == "__main__":
    sys.exit(main())
