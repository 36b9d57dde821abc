#!/usr/bin/env python3
"""Compiles the sources of a CUDA build with the headers of CUDA 12 and with NVRTC 12, installed from PyPI.

    ci/compile_cuda12.py FOLDER BUILD    FOLDER caches the wheels, BUILD is a build folder with compile_commands.json

PyPI has no nvcc 12. So host code is compiled with the headers of the oldest and the newest CUDA 12, in parts that every build has
(recorder, backend, FFTs), and each kernel is compiled by NVRTC 12.0 for the oldest supported GPU. No GPU is needed.
"""

import concurrent.futures
import ctypes
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from compare_cupti import install_wheels  # noqa: E402
from device_code import kernel_sources, kernel_text  # noqa: E402

VERSIONS = {
    "12.0": ("nvidia-cuda-runtime-cu12==12.0.146", "nvidia-cuda-cupti-cu12==12.0.146", "nvidia-cuda-nvrtc-cu12==12.0.140",
             "nvidia-cuda-nvcc-cu12==12.0.140", "nvidia-cufft-cu12==11.0.0.21"),
    "12.9": ("nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-cupti-cu12==12.9.79", "nvidia-cuda-nvrtc-cu12==12.9.86",
             "nvidia-cuda-nvcc-cu12==12.9.86", "nvidia-cufft-cu12==11.4.1.4"),
}  # fmt: skip
TARGETS = ("peakmark_cupti_parts", "peakmark-cupti", "peakmark-every-allocation", "peakmark_device_cuda", "peakmark_kernels_fft")
ARCHITECTURE = "compute_75"


def host_commands(build: Path, wheels: Path) -> list[tuple[str, list[str], str]]:
    """Returns name, command and folder of each compilation, with the headers of these wheels."""
    root = next(line.partition("=")[2] for line in (build / "cuda-toolkit.txt").read_text().splitlines() if line.startswith("CUDA_ROOT="))
    real = os.path.realpath(root)
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if not any(f"/{target}.dir/" in word for target in TARGETS for word in words) or "/generated/" in entry["file"]:
            continue
        command, of_toolkit = [], 0
        for index, word in enumerate(words):
            previous = words[index - 1] if index else ""
            if previous == "-isystem" and os.path.realpath(word).startswith(real):
                command.pop()
                of_toolkit += 1
            elif word != "-o" and previous != "-o" and word != "-c":
                command.append(word)
        if of_toolkit:
            headers = [option for folder in sorted(wheels.glob("nvidia/*/include")) for option in ("-isystem", str(folder))]
            found.append((entry["file"], [*command, *headers, "-fsyntax-only", "-O0"], entry["directory"]))
    return found


def compile_host(command: tuple[str, list[str], str]) -> str:
    done = subprocess.run(command[1], cwd=command[2], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{command[0]}:\n{done.stderr[:4000]}"


class Nvrtc:
    def __init__(self, library: Path):
        # Opened by the first compilation, from the folder of the library.
        ctypes.CDLL(str(next(library.parent.glob("libnvrtc-builtins.so.*"))), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(library))

    def compile(self, name: str, text: str, options: list[str]) -> str:
        """Returns the compiler's log if it fails; else nothing."""
        program = ctypes.c_void_p()
        assert self.library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None) == 0
        words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if self.library.nvrtcCompileProgram(program, len(options), words) == 0:
            return ""
        size = ctypes.c_size_t()
        self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.library.nvrtcGetProgramLog(program, log)
        return log.value.decode(errors="replace")[:4000] or "NVRTC fails without a log"


def compile_kernels(wheels: Path) -> tuple[int, list[str]]:
    nvrtc = Nvrtc(wheels / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    language = (ROOT / "harness/measure/device/kernel_language.h").read_text()
    sources = kernel_sources()
    errors = []
    for source in sources:
        options = [f"--gpu-architecture={ARCHITECTURE}", "--std=c++17", f"-DPM_DTYPE_{source.dtype}"]
        if log := nvrtc.compile(source.path.name, language + kernel_text(source.path), options):
            errors.append(f"{source.path} for {source.dtype}:\n{log}")
    return len(sources), errors


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    cache, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    wrong = 0
    for version, packages in VERSIONS.items():
        wheels = install_wheels(cache / f"compile-{version}", packages)
        commands = host_commands(build, wheels)
        if len(commands) < len(TARGETS):
            print(f"compile_cuda12: {build}/compile_commands.json has only {len(commands)} compilations of {', '.join(TARGETS)}", file=sys.stderr)
            return 1
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            errors = [error for error in pool.map(compile_host, commands) if error]
        print(*errors, sep="\n", end="\n" if errors else "", file=sys.stderr)
        print(f"CUDA {version}: {len(commands) - len(errors)} of {len(commands)} parts of the host code compile with its headers")
        wrong += len(errors)
    count, errors = compile_kernels(cache / f"compile-{next(iter(VERSIONS))}")
    print(*errors, sep="\n", end="\n" if errors else "", file=sys.stderr)
    print(f"CUDA {next(iter(VERSIONS))}: NVRTC compiles {count - len(errors)} of {count} kernel sources for {ARCHITECTURE}")
    return 1 if wrong + len(errors) else 0


if __name__ == "__main__":
    sys.exit(main())
