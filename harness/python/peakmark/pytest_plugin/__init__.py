"""pytest plugin for device memory: marks for limits, leaks and estimators, a fixture with windows, a report.

See docs/python.md of peakmark.
"""

import warnings

import pytest

# pytest loads this plugin wherever peakmark is installed, so it must not fail with an old pytest.
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
        f"plugin of peakmark disabled: it needs pytest 7.0 or newer, this is {pytest.__version__}",
        stacklevel=1,
    )
