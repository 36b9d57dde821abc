"""Where an allocation was asked for: the innermost frame of Python in its call stack, or else the innermost function
that is neither a recorder's nor a loader's nor a driver's."""

from __future__ import annotations

import os

# Wheels put a number behind the names of the libraries that they bring: so beginnings are compared.
_BETWEEN = (
    "libpeakmark-", "libOpenCL", "libpocl", "libcuda.", "libcudart", "libcupti", "libnvidia-", "libamdocl", "libigdrcl",
    "libintelocl", "libMesaOpenCL", "libRusticlOpenCL",
)  # fmt: skip


def site_of(stack: str) -> str:
    """`function file.py:12`, `function (library)`, `library+0x1f`; empty where no stack was recorded."""
    native = ""
    for line in stack.split("\n"):
        fields = line.split("\t")
        if fields[0] == "P" and len(fields) >= 4:
            return f"{fields[1]} {os.path.basename(fields[3])}:{fields[2]}"
        if fields[0] == "N" and len(fields) >= 5 and not native:
            library = os.path.basename(fields[3])
            if not library.startswith(_BETWEEN):
                native = f"{fields[1]} ({library})" if fields[1] else f"{library}+0x{fields[4]}"
    return native
