"""Measures the device memory of this program: marks for a recording, and figures while it runs.

    import peakmark

    with peakmark.phase("call"):
        result = method(images)
    peakmark.name(result, "result")

`peakmark record -- python script.py` and suites of peakmark record a program. If it is not recorded, a mark only reads an
environment variable.

    peakmark.load_recorders()                   # before the first call into OpenCL or CUDA
    with peakmark.record() as profile:
        result = method(images)
    profile.peak_bytes

    peakmark.run(method, {"batch": [1, 64, 4096]}).plot()   # memory and time of each case
    peakmark.fit(method, "batch=1..4096", "16GiB").value    # the largest that fits

    cases = peakmark.load("run.json")           # a run of a suite, as a table of pandas
    peakmark.plot_memory(cases)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from peakmark.marks import UNSUPPORTED, WRONG_ANSWER, metric, name, phase, recording, repeat_call

if TYPE_CHECKING:
    from peakmark.fitting import Fit, FitError, FitTrial, fit
    from peakmark.function_runs import FunctionRun, run
    from peakmark.recorded_profile import Profile, record
    from peakmark.recorders import NoRecorder, RecorderError, RecorderTooLate
    from peakmark.recorders import load as load_recorders
    from peakmark.runs import RunError, load, plot_memory

__all__ = [
    "UNSUPPORTED", "WRONG_ANSWER", "Fit", "FitError", "FitTrial", "FunctionRun", "NoRecorder", "Profile", "RecorderError", "RecorderTooLate",
    "RunError", "fit", "load", "load_recorders", "metric", "name", "phase", "plot_memory", "record", "recording",
    "repeat_call", "run",
]  # fmt: skip
__version__ = "0.1.0"

# Imported at the first use, so that a program that only has marks imports only them.
_LAZY = {
    "Fit": ("fitting", "Fit"),
    "FitError": ("fitting", "FitError"),
    "FitTrial": ("fitting", "FitTrial"),
    "FunctionRun": ("function_runs", "FunctionRun"),
    "NoRecorder": ("recorders", "NoRecorder"),
    "Profile": ("recorded_profile", "Profile"),
    "RecorderError": ("recorders", "RecorderError"),
    "RecorderTooLate": ("recorders", "RecorderTooLate"),
    "RunError": ("runs", "RunError"),
    "fit": ("fitting", "fit"),
    "load": ("runs", "load"),
    "load_recorders": ("recorders", "load"),
    "plot_memory": ("runs", "plot_memory"),
    "record": ("recorded_profile", "record"),
    "run": ("function_runs", "run"),
}


def __getattr__(wanted: str) -> Any:
    if wanted not in _LAZY:
        raise AttributeError(f"module 'peakmark' has no attribute {wanted!r}")
    module, attribute = _LAZY[wanted]
    found = getattr(importlib.import_module(f"peakmark.{module}"), attribute)
    globals()[wanted] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
