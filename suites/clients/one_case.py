"""How a program that measures one case ends: told by the suites of clients."""

import gc
import sys

import peakmark


def ended(mistake):
    """The exit code of a case that is over, with what is wrong with its result, or None. What lives now is leaked."""
    gc.collect()
    with peakmark.phase("end"):
        pass
    if mistake:
        print(mistake, file=sys.stderr)
    return peakmark.WRONG_ANSWER if mistake else 0
