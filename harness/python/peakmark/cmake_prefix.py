"""`python -m peakmark.cmake_prefix` prints where CMake finds the package of C++:

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
            f"{found} has no CMake package: install the wheel of peakmark, or its sources by cmake --install; the module "
            "alone (pip install harness/python) brings none"
        )
    return found


if __name__ == "__main__":
    try:
        print(cmake_prefix())
    except FileNotFoundError as error:
        sys.exit(f"peakmark.cmake_prefix: {error}")
