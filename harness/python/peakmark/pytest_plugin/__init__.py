"""pytest and device memory: limits, leaks and estimators as marks, a fixture with windows, a report.

docs/python.md of peakmark tells how they are used.
"""

import warnings

import pytest

# pytest loads this wherever peakmark is installed: an old one must not fail for it.
if hasattr(pytest, "StashKey"):
    from peakmark.pytest_plugin.hooks import (
        device_memory,
        pytest_addoption,
        pytest_configure,
        pytest_load_initial_conftests,
    )

    __all__ = ["device_memory", "pytest_addoption", "pytest_configure", "pytest_load_initial_conftests"]
else:
    warnings.warn(
        f"peakmark's plugin does nothing here: it needs pytest 7.0 or newer, and this is {pytest.__version__}",
        stacklevel=1,
    )
