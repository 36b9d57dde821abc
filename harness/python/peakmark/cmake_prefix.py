"""`python -m peakmark.cmake_prefix` prints the prefix in which CMake finds the C++ package:

    cmake -S . -B build -DCMAKE_PREFIX_PATH="$(python -m peakmark.cmake_prefix)"
"""

from __future__ import annotations

import pathlib
import sys

from peakmark.installed_programs import prefix


def cmake_prefix() -> pathlib.Path:
    """Returns the prefix. Raises FileNotFoundError if only the module is installed."""
    found = prefix()
    if not (found / "lib" / "cmake" / "peakmark").is_dir():
        raise FileNotFoundError(
            f"no CMake package in {found}; install the wheel of peakmark, or its sources with cmake --install (pip install "
            "harness/python installs only the module)"
        )
    return found


if __name__ == "__main__":
    try:
        print(cmake_prefix())
    except FileNotFoundError as error:
        sys.exit(f"peakmark.cmake_prefix: {error}")
