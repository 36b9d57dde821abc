"""Writes weak definitions of the functions of headers, which return one number. The sources of a fake override them.

    weak_definitions.py MACRO NUMBER OUTPUT.cpp HEADER…      # MACRO is before each function's name: CUDARTAPI, CUPTIAPI
"""
import pathlib
import re
import sys


def definitions(macro: str, number: int, headers: list[str]) -> str:
    function = re.compile(rf"\b{macro}(?:_CDECL)?\s+(cu\w+)\s*\(")
    names = {name for header in headers for name in function.findall(pathlib.Path(header).read_text())}
    weak = [f"__attribute__((weak)) int {name}() {{ return {number}; }}" for name in sorted(names)]
    return "\n".join(["// Written by weak_definitions.py.", 'extern "C" {', *weak, "}", ""])


if __name__ == "__main__":
    pathlib.Path(sys.argv[3]).write_text(definitions(sys.argv[1], int(sys.argv[2]), sys.argv[4:]))
