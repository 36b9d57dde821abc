"""Exact formulas of nabu's memory on an OpenCL device, and nabu's own estimates.

The formulas are those of the allocations that nabu_padding.py and nabu_fbp.py cause in nabu, in single precision. They return
(bytes per slice, fixed bytes). `…_2023_2` is for release 2023.2.0, with its two-dimensional coordinates, `…_2026_1` for 2026.1.2.
"""

from types import SimpleNamespace

ELEMENT, COMPLEX, COORDINATE = 4, 8, 4

# Twiddle factors of VkFFT for real transforms of a length, as pyvkfft 2025.1.1 allocates them; recorded on PoCL 3.1.
FFT_TABLES = {
    4: 4, 8: 4, 16: 64, 32: 128, 64: 192, 128: 704, 200: 1536, 256: 1216, 500: 3920, 512: 1728, 640: 4800, 1000: 7936,
    1024: 5824, 1280: 7360, 1500: 11960, 2000: 15936, 2048: 9920, 2560: 18112, 3000: 23920, 4000: 23936, 4096: 14016,
    4320: 34480, 5120: 38592, 6000: 47920, 8000: 63680, 8192: 46784, 16384: 79552, 32768: 112320,
}  # fmt: skip

# The max powers of these primes in a padded width, and the min power of 2: silx.image.tomography.generate_powers.
MAX_POWERS = {2: 15, 3: 9, 5: 6, 7: 5}
MIN_POWER_OF_2 = 2


def padded_width(w):
    """Returns the smallest width with small prime factors that holds two lines."""
    widths = [2**power for power in range(MIN_POWER_OF_2, MAX_POWERS[2] + 1)]
    for prime in (3, 5, 7):
        widths = [width * prime**power for width in widths for power in range(MAX_POWERS[prime] + 1)]
    return min(width for width in widths if width >= 2 * w)


def _fft_tables(length):
    if length not in FFT_TABLES:
        raise ValueError(f"bytes of VkFFT's tables are unknown for length {length}; record them and add them to FFT_TABLES")
    return FFT_TABLES[length]


def _padding(shape, pads, mode, coordinates):
    rows, columns = (before + size + after for size, (before, after) in zip(shape, pads))
    padded = ELEMENT * rows * columns
    setup = padded if mode == "constant" else COORDINATE * coordinates(rows, columns)
    return ELEMENT * shape[0] * shape[1] + padded, setup


def _images(rows, columns):
    """Returns the elements of two images: the row and the column of every element."""
    return 2 * rows * columns


def _vectors(rows, columns):
    """Returns the elements of two vectors: one for rows, one for columns."""
    return rows + columns


def padding_2023_2(non_slice_dims, _dtype, *, mode, pad_y0, pad_y1, pad_x0, pad_x1):
    return _padding(non_slice_dims, ((pad_y0, pad_y1), (pad_x0, pad_x1)), mode, _images)


def padding_2026_1(non_slice_dims, _dtype, *, mode, pad_y0, pad_y1, pad_x0, pad_x1):
    return _padding(non_slice_dims, ((pad_y0, pad_y1), (pad_x0, pad_x1)), mode, _vectors)


def _fbp(shape, padding, memory, coordinates, kept_sinograms):
    """`kept_sinograms`: copies of a sinogram that nabu keeps, by the memory of the caller's sinograms."""
    n_a, w = shape
    padded_w = padded_width(w)
    sinogram, slice_ = ELEMENT * n_a * w, ELEMENT * w * w
    padded = ELEMENT * n_a * padded_w
    column = COMPLEX * (padded_w // 2 + 1)
    fixed = padded + n_a * column + column + _fft_tables(padded_w) + 2 * ELEMENT * n_a
    fixed += padded if padding == "zeros" else COORDINATE * coordinates(n_a, padded_w)
    fixed += kept_sinograms[memory] * sinogram
    if memory == "host":  # a single slice, which nabu copies to the device and back
        return fixed + slice_, 0
    return sinogram + slice_, fixed


def fbp_2023_2(non_slice_dims, _dtype, *, padding, memory):
    return _fbp(non_slice_dims, padding, memory, _images, {"host": 2, "device": 1})


def fbp_2026_1(non_slice_dims, _dtype, *, padding, memory):
    return _fbp(non_slice_dims, padding, memory, _vectors, {"host": 2, "device": 2})


def process_configuration(other_dimensions):
    """Returns the attributes of nabu's process configuration that its estimators read, for a reconstruction by FBP.

    Its data set has more slices than fit into any device.
    """
    (n_a, w), n_z = other_dimensions, 1 << 20
    return SimpleNamespace(
        dataset_info=SimpleNamespace(darks={}, flats={}),
        processing_steps=["reconstruction"],
        processing_options={"reconstruction": {"start_x": 0, "end_x": w - 1, "start_y": 0, "end_y": w - 1}},
        rec_params={"method": "FBP"},
        binning_z=1,
        subsampling_factor=1,
        rec_delta_z=n_z,
        radio_shape=lambda binning=False: (n_z, w),
        n_angles=lambda subsampling=False: n_a,
    )


def estimate_required_memory(process_config, delta_z):
    from nabu.pipeline.fullfield.computations import estimate_required_memory as of_nabu  # the formulas need no nabu

    return of_nabu(process_config, delta_z=delta_z)


def estimate_max_chunk_size(available_memory_GB, process_config):
    """Returns the slices of a chunk as nabu's pipeline asks for them on a GPU: a multiple of five, or one."""
    from nabu.pipeline.fullfield.computations import estimate_max_chunk_size as of_nabu

    return of_nabu(available_memory_GB, process_config, pipeline_part="all", step=5)
