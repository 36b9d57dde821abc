#!/usr/bin/env python3
"""Checks that the parts of CUPTI's headers that the CUDA recorder uses are equal in CUDA 12 and in the toolkit in use.

    ci/compare_cupti.py FOLDER CUDA_ROOT    FOLDER caches the headers of CUDA 12, installed from PyPI

The recorder is compiled once and reads the callbacks of libcupti.so.12 and libcupti.so.13. Therefore call ids, enumerators and
the layout of each structure must be equal in both. What older headers lack is in newer_cuda.hpp, which is compared too.
"""

import re
import subprocess
import sys
from pathlib import Path

# The oldest CUDA 12, the newest, and one between; each wheel of CUPTI has 15 MB.
WHEELS = ("nvidia-cuda-cupti-cu12=={0}", "nvidia-cuda-runtime-cu12=={0}")
VERSIONS = ("12.0.146", "12.4.127", "12.9.79")
SOURCES = Path(__file__).resolve().parent.parent / "harness" / "record" / "recorders" / "cupti"
# Activity records are read from one release of CUPTI only, so their layouts may differ.
ACTIVITY = {"activity_records.cpp"}
# Structures that the recorder reads through a pointer in the parameters of a call, or from CUPTI.
STRUCTURES = {
    "CUpti_CallbackData": "callbackSite functionParams functionReturnValue context contextUid correlationData",
    "CUpti_ResourceData": "context resourceDescriptor",
    "CUpti_ModuleResourceData": "moduleId cubinSize pCubin",
    "CUDA_ARRAY_DESCRIPTOR": "Width Height Format NumChannels",
    "CUDA_ARRAY3D_DESCRIPTOR": "Width Height Depth Format NumChannels Flags",
    "CUmemAllocationProp": "type location",
    "CUmemPoolProps": "allocType location",
    "CUmemLocation": "type id",
    "CUarrayMapInfo": "resourceType resource subresource memOperationType memHandle",
    "CUDA_MEM_ALLOC_NODE_PARAMS": "dptr bytesize",
    "CUgraphNodeParams": "type alloc",
    "CUlaunchConfig": "hStream",
}


def install_wheels(target: Path, packages: tuple[str, ...]) -> Path:
    """Installs wheels of PyPI into a folder, once. Returns the folder."""
    stamp = target / ".complete"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--no-compile",
                        "--upgrade", "--target", str(target), *packages], check=True)
        stamp.touch()
    return target


def headers_of_12(folder: Path, version: str) -> list[Path]:
    target = install_wheels(folder / version, tuple(wheel.format(version) for wheel in WHEELS))
    return [target / "nvidia" / "cuda_runtime" / "include", target / "nvidia" / "cuda_cupti" / "include"]


def headers_of_13(root: Path) -> list[Path]:
    candidates = [root / "include", root / "targets/x86_64-linux/include", root / "extras/CUPTI/include"]
    return [folder for folder in candidates if folder.is_dir()]


def text_of(headers: list[Path], name: str) -> str:
    return next((folder / name).read_text() for folder in headers if (folder / name).exists())


def used_names() -> tuple[set[str], set[str]]:
    """Returns the driver calls and the enumerators that the recorder's sources name."""
    text = "\n".join(file.read_text() for file in sorted(SOURCES.glob("*.[ch]pp"))
                     if file.name not in ACTIVITY and not file.name.endswith("_test.cpp") and "fake" not in file.name)
    calls = set(re.findall(r"\b(?:CUPTI_DRIVER_TRACE_CBID_|PEAKMARK_CALL\(|PARAMETERS\(|DO\()(cu[A-Z]\w+)", text))
    calls |= set(re.findall(r"\b(cu[A-Z]\w+)_params\b", text))
    constants = set(re.findall(r"\b(CUPTI_(?!DRIVER_TRACE)[A-Z][A-Z0-9_]+|CU_[A-Z][A-Z0-9_]+|CUDA_[A-Z][A-Z0-9_]+)\b", text))
    return calls, constants


def fields_of(structure: str, meta: str) -> list[str]:
    body = re.search(rf"typedef struct {structure}_st {{(.*?)}} {structure};", meta, re.S)
    return re.findall(r"(\w+)(?:\[\d+\])?;", body.group(1)) if body else []


def checks(headers: list[Path], calls: set[str], constants: set[str]) -> list[str]:
    """Returns the lines of a program that prints value, or size and offsets, of each name that these headers have."""
    ids = set(re.findall(r"CUPTI_DRIVER_TRACE_CBID_(\w+)", text_of(headers, "cupti_driver_cbid.h")))
    meta = text_of(headers, "generated_cuda_meta.h")
    calls = {name for call in calls for name in (call, call + "_ptsz", call + "_ptds")} & ids
    everything = "\n".join(file.read_text() for folder in headers for file in folder.glob("cu*.h"))
    enumerators = set(re.findall(r"^\s*(CU\w+)\s*=", everything, re.M))
    lines = []

    def print_layout(structure: str, fields: list[str]) -> None:
        offsets = "".join(f", (int)offsetof({structure}, {field})" for field in fields)
        names = "".join(f" {field}@%d" for field in fields)
        lines.append(f'std::printf("{structure}\\t%d{names}\\n", (int)sizeof({structure}){offsets});')

    for call in sorted(calls):
        lines.append(f'std::printf("id of {call}\\t%d\\n", (int)CUPTI_DRIVER_TRACE_CBID_{call});')
        if fields := fields_of(f"{call}_params", meta):
            print_layout(f"{call}_params", fields)
    # Macros have no value.
    for constant in sorted(constants & enumerators):
        lines.append(f'std::printf("{constant}\\t%lld\\n", (long long){constant});')
    for structure, fields in STRUCTURES.items():
        print_layout(structure, fields.split())
    return lines


def layout(headers: list[Path], lines: list[str], scratch: Path, last: list[Path] | None = None) -> dict[str, str]:
    """Returns value, or size and offsets, by name, with these headers and newer_cuda.hpp.

    `last` are include folders for headers that they need but lack: the wheels of CUDA 12.0 have no crt/host_defines.h, which
    only has macros of the compiler.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    source, program = scratch / "layout.cpp", scratch / "layout"
    includes = f'#include "{SOURCES / "newer_cuda.hpp"}"\n#include <cstddef>\n#include <cstdio>\n'
    source.write_text(includes + "int main() {\n" + "\n".join(lines) + "\n}\n")
    flags = [flag for folder in headers for flag in ("-isystem", str(folder))]
    flags += [flag for folder in last or () for flag in ("-idirafter", str(folder))]
    subprocess.run(["c++", "-std=c++17", "-O0", *flags, str(source), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return dict(line.split("\t") for line in printed.splitlines())


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder, root = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    lines = checks(headers_of_13(root), *used_names())
    ours = layout(headers_of_13(root), lines, folder / "layout13")
    if len(ours) < 150 or "id of cuMemAlloc_v2" not in ours:
        print(f"compare_cupti: found only {len(ours)} names in the recorder's sources", file=sys.stderr)
        return 1
    wrong = 0
    for version in VERSIONS:
        theirs = layout(headers_of_12(folder, version), lines, folder / "layout12", headers_of_13(root))
        different = [name for name in ours if theirs[name] != ours[name]]
        for name in different:
            print(f"CUDA {version}: {name}: {theirs[name]}, here {ours[name]}", file=sys.stderr)
        wrong += len(different)
        print(f"CUDA {version}: {len(theirs) - len(different)} of {len(theirs)} names agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
