"""Tells the recorder of peakmark what a program does. Does nothing where nothing is recorded.

    import peakmark

    with peakmark.phase("call"):
        result = method(images)
    peakmark.name(result, "result")

`peakmark record -- python script.py` and suites of peakmark record a program; without them, or without peakmark, the
marks cost a look into the environment.
"""

from peakmark.marks import UNSUPPORTED, WRONG_ANSWER, name, phase, recording

__all__ = ["UNSUPPORTED", "WRONG_ANSWER", "name", "phase", "recording"]
__version__ = "0.1.0"
