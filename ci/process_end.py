"""Waiting for processes that are no children of this one."""

import os
import select


def has_ended(pid: int, seconds: float) -> bool:
    """Waits until a process has ended; false where it still runs after that time. A signal has only been sent when kill()
    returns: on a loaded machine its process may end much later."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], seconds)[0])
    finally:
        os.close(watched)
