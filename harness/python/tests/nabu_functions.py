"""A process configuration, and functions with the names and arguments of nabu's that read it."""


def process_config(other_dimensions, flats=0):
    return {"radio": other_dimensions, "flats": flats}


def estimate_required_memory(process_config, delta_z=None, delta_a=None, fft_plans=True):
    rows, columns = process_config["radio"]
    return float((delta_z + process_config["flats"]) * rows * columns * 4)


def estimate_max_chunk_size(available_memory_GB, process_config, pipeline_part="all", step=5):
    rows, columns = process_config["radio"]
    delta_z = 0
    while estimate_required_memory(process_config, delta_z + step) <= available_memory_GB * 1e9:
        delta_z += step
    return delta_z
