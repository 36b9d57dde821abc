"""Writes tables of the driver's symbols and errors from the toolkit's headers, for the fake libcuda.so.1.

    fake_libcuda_symbols.py OUTPUT.cpp FOLDER…     the folders of cuda.h and CUPTI

The table has the rows of cuGetProcAddress: name, version, stream, symbol. The versions are in cudaTypedefs.h (PFN_NAME_vVERSION);
which symbol belongs to a version is not. The newest version is the newest symbol (NAME, NAME_v2, …), and so on downwards.

Each symbol of the driver also gets a weak definition, which returns CUDA_ERROR_NOT_SUPPORTED. The sources of the fake override it.
"""
import pathlib
import re
import sys

SYMBOL = re.compile(r"CUPTI_DRIVER_TRACE_CBID_(cu[A-Z]\w*)")
RESULT = re.compile(r"^\s+(CUDA_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)", re.MULTILINE)
TYPEDEF = re.compile(r"\*PFN_(cu[A-Z]\w*?)_v(\d+)(_ptds|_ptsz)?\)")
# CUPTI has no callbacks for them.
WITHOUT_CALLBACK = {"cuGetExportTable", "cuGetErrorName", "cuGetErrorString", "cuGetProcAddress", "cuGetProcAddress_v2"}


def family(symbols: set[str], name: str, stream: str) -> list[str]:
    """Returns the symbols of a function, oldest first: NAME, NAME_v2, …, each with the suffix of its stream."""
    pattern = re.compile(re.escape(name) + r"(?:_v(\d+))?" + stream)
    found = [(int(match[1] or 1), symbol) for symbol in symbols if (match := pattern.fullmatch(symbol))]
    return [symbol for _, symbol in sorted(found)]


def rows(typedefs: str, symbols: set[str]) -> list[tuple[str, int, str, str]]:
    """Returns (name, version, stream, symbol), sorted."""
    versions: dict[tuple[str, str], set[int]] = {}
    for name, version, stream in TYPEDEF.findall(typedefs):
        versions.setdefault((name, stream), set()).add(int(version))
    result = []
    for (name, stream), known in versions.items():
        newest_first = zip(sorted(known, reverse=True), reversed(family(symbols, name, stream)))
        result += [(name, version, stream.removeprefix("_"), symbol) for version, symbol in newest_first]
    return sorted(result)


def symbols_of(cuda: str, callbacks: str) -> set[str]:
    """Returns the driver's symbols. CUPTI has ids for some that cuda.h lacks: only those of a stream count."""
    declared = set(re.findall(r"\bcu[A-Z]\w*", cuda))
    return {symbol for symbol in SYMBOL.findall(callbacks) if symbol in declared or symbol.endswith(("_ptds", "_ptsz"))} | WITHOUT_CALLBACK


def read_header(folders: list[str], name: str) -> str:
    for folder in folders:
        if (file := pathlib.Path(folder, name)).exists():
            return file.read_text()
    raise SystemExit(f"fake_libcuda_symbols.py: no {name} in {', '.join(folders)}")


def table(folders: list[str]) -> str:
    headers = read_header(folders, "cuda.h") + read_header(folders, "cudaProfiler.h")
    typedefs = read_header(folders, "cudaTypedefs.h") + read_header(folders, "cudaProfilerTypedefs.h")
    symbols = symbols_of(headers, read_header(folders, "cupti_driver_cbid.h"))
    weak = [f'__attribute__((weak)) int {name}() {{ return fake_cuda_not_supported("{name}"); }}' for name in sorted(symbols)]
    entries = [
        f'    {{"{name}", {version}, {"true" if stream else "false"}, reinterpret_cast<void*>(&{symbol})}},'
        for name, version, stream, symbol in rows(typedefs, symbols)
    ]
    results = [f'    {{{number}, "{name}"}},' for name, number in RESULT.findall(headers)]
    return "\n".join([
        "// Written by fake_libcuda_symbols.py.",
        '#include "record/recorders/cupti/tests/fake_libcuda_symbols.hpp"',
        'extern "C" {', *weak, "}",
        "const fake_cuda::Symbol fake_cuda::kSymbols[] = {", *entries, "};",
        "const std::size_t fake_cuda::kSymbolCount = std::size(kSymbols);",
        "const fake_cuda::Result fake_cuda::kResults[] = {", *results, "};",
        "const std::size_t fake_cuda::kResultCount = std::size(kResults);", ""])


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(table(sys.argv[2:]))
