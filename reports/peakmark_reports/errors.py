"""What ends a command with a message instead of a traceback."""

from __future__ import annotations


class InputError(Exception):
    """The message says what is wrong, where, and what to do; `code` is the exit code, as peakmark's."""

    code = 2
