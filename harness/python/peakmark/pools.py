"""Memory that a library's pool holds. Bytes are counted where they are asked of the driver, so what a pool keeps for
later counts as long as the pool has it: these figures tell how much of it was in use."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """`held_bytes` were asked of the driver, `used_bytes` of the pool and not given back."""

    name: str
    held_bytes: int
    used_bytes: int
    advice: str


def usage_of(pool: Any, name: str) -> PoolUsage:
    """Of a pool as pyopencl's and PyCUDA's (managed_bytes, active_bytes) or CuPy's (total_bytes(), used_bytes()).

    TypeError for anything else.
    """
    if hasattr(pool, "managed_bytes") and hasattr(pool, "active_bytes"):
        return PoolUsage(name, int(pool.managed_bytes), int(pool.active_bytes), "free_held() gives the rest back")
    if hasattr(pool, "total_bytes") and hasattr(pool, "used_bytes"):
        return PoolUsage(name, int(pool.total_bytes()), int(pool.used_bytes()), "free_all_blocks() gives the rest back")
    raise TypeError(
        f"a {type(pool).__name__} is no pool that is known: it has neither managed_bytes and active_bytes (pyopencl, "
        "PyCUDA) nor total_bytes() and used_bytes() (CuPy)"
    )


def known_pools() -> list[PoolUsage]:
    """Those of CuPy and torch, where the program has imported them and they hold something."""
    return [pool for pool in _ask() if pool.held_bytes > 0]


def _ask() -> Iterator[PoolUsage]:
    # What these libraries raise where there is no device is their own.
    if (cupy := sys.modules.get("cupy")) is not None:
        with contextlib.suppress(Exception):
            yield usage_of(cupy.get_default_memory_pool(), "CuPy's pool")
    if (torch := sys.modules.get("torch")) is not None:
        with contextlib.suppress(Exception):
            if torch.cuda.is_initialized():
                held, used = torch.cuda.memory_reserved(), torch.cuda.memory_allocated()
                yield PoolUsage("torch's pool", int(held), int(used), "torch.cuda.empty_cache() gives the rest back")
