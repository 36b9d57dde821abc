#!/usr/bin/env python3
"""Judges estimators that `peakmark explain --emit python` writes by httomo's own calling code.

    suites/clients/make-environments httomo-3.0
    build/environments/httomo-3.0/bin/python suites/clients/httomo_calls.py build/prefix/bin/peakmark

For each variant it emits a module, and asks httomo's method wrapper how many slices fit into the bytes that the variant's
written estimator needs for 57 slices: 57 by `method: module`, 51 to 57 by `method: iterative`, whose search ends at 90 %. No GPU
and no MPI is needed: a GPU is pretended, and its device functions, which the estimators do not use, do nothing.
Exit code 1 if an answer differs.
"""

import contextlib
import importlib
import json
import subprocess
import sys
import tempfile
import types
from unittest import mock

import numpy as np

for name in ("mpi4py", "mpi4py.MPI"):
    sys.modules[name] = mock.MagicMock()

import httomo.globals  # noqa: E402 - it imports mpi4py
from httomo.method_wrappers import generic  # noqa: E402
from httomo_backends.methods_database.query import MethodsDatabaseQuery  # noqa: E402

SLICES, SHARE = 57, 0.9
# Variant, its words, the axis of slices (number in httomo), the other two of a large case.
VARIANTS = [
    ("padding/coords1d", {"mode": "edge"}, ("n", 0), {"ny": 1801, "nx": 2560}),
    ("padding/coords2d", {"mode": "wrap"}, ("n", 0), {"ny": 1801, "nx": 2560}),
    ("padding/computed", {"mode": "edge"}, ("n", 0), {"ny": 1801, "nx": 2560}),
    ("mul_add/whole", {}, ("n", 0), {"ny": 1801, "nx": 2560}),
    ("vertical_shift/muladd", {"shift": "random8"}, ("n_a", 0), {"n_z": 999, "nx": 1300}),
    ("vertical_shift/fused", {"shift": "random8"}, ("n_a", 0), {"n_z": 999, "nx": 1300}),
    ("backprojection/linear", {"angles": "half_turn"}, ("n_z", 1), {"n_a": 1801, "w": 2560}),
    ("backprojection/tiled", {"angles": "half_turn"}, ("n_z", 1), {"n_a": 1801, "w": 2560}),
]


class Query(MethodsDatabaseQuery):
    """httomo-backends' query of a method whose entry and supporting functions are here."""

    def __init__(self, module, method, entry, supporting):
        super().__init__(module, method)
        self.entry, self.supporting = entry, supporting

    def _get_method_info(self, attr):
        return self.entry[attr]

    def _import_supporting_funcs_module(self):
        return self.supporting


def run(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True).stdout


def httomo_slices(supporting, method, kind, dimension, dims, dtype, available, parameters):
    """Returns how many slices httomo puts into a block."""
    module = types.ModuleType("methods_here")
    setattr(module, method, lambda data, **kwargs: data)
    sys.modules[module.__name__] = module
    entry = {
        "pattern": ("projection", "sinogram")[dimension], "output_dims_change": False, "implementation": "gpu_cupy",
        "save_result_default": False, "padding": False, "memory_gpu": [{"multiplier": None}, {"method": kind}],
    }  # fmt: skip
    repository = types.SimpleNamespace(query=lambda path, name: Query(path, name, entry, supporting))
    wrapper = generic.GenericMethodWrapper(repository, module.__name__, method, None, **parameters)
    return wrapper.calculate_max_slices(np.dtype(dtype), dims, available)[0]


def judge(peakmark, variant, words, sliced, others, folder):
    """Prints a line for each dtype and kind. Returns how many differ."""
    (axis, dimension), method = sliced, variant.partition("/")[0]
    name = "explained_" + variant.replace("/", "_")
    chosen = [f"{key}={value}" for key, value in words.items()]
    module = run(peakmark, "explain", variant, *chosen, "--backend", "dry", "--slice-axis", axis, "--emit", "python")
    with open(f"{folder}/{name}.py", "w", encoding="utf-8") as file:
        file.write(module)
    supporting = importlib.import_module(name)
    numpy_names = {ours: name for name, (ours, _size) in supporting._DTYPES.items()}
    wrong = 0
    for dtype in supporting._FORMULAS[0][1]["dtype"]:
        shape = {**others, axis: SLICES, "dtype": dtype, **words}
        asked = json.loads(run(peakmark, "estimate", variant, *(f"{key}={value}" for key, value in shape.items()), "--json"))
        parameters = {key: value for key, value in asked["parameters"].items() if key not in (axis, "dtype", *others)}
        for kind, prefix in (("iterative", "_calc_memory_bytes_for_slices_"), ("module", "_calc_memory_bytes_")):
            if not hasattr(supporting, prefix + method):
                print(f"{variant} {dtype} {kind}: not emitted")
                continue
            slices = httomo_slices(
                supporting, method, kind, dimension, tuple(others.values()), numpy_names[dtype], asked["bytes"], parameters
            )
            right = slices == SLICES if kind == "module" else SHARE * SLICES <= slices <= SLICES
            wrong += not right
            print(f"{variant} {dtype} {kind}: {slices} of {SLICES} slices in {asked['bytes']} bytes{'' if right else ': WRONG'}")
    return wrong


def main():
    peakmark = sys.argv[1]
    generic.gpu_enabled = True
    httomo.globals.gpu_id = 0
    generic.xp = types.SimpleNamespace(cuda=types.SimpleNamespace(Device=lambda _number: contextlib.nullcontext()))
    generic.gpumem_cleanup = lambda: None
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        wrong = sum(judge(peakmark, *variant, folder) for variant in VARIANTS)
    print(f"{wrong} answers differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
