"""Helpers of the programs in ci/."""

import os
import select


def quantity(count: int, one: str, many: str = "") -> str:
    """Returns a number with its noun: `1 case`, `2 cases`. `many` is the plural if it is not `one` with an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def has_ended(pid: int, seconds: float) -> bool:
    """Waits until a process, which need not be a child, has ended. Returns False if it still runs after `seconds`.

    kill() only sends a signal: on a loaded machine the process may end much later.
    """
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], seconds)[0])
    finally:
        os.close(watched)
