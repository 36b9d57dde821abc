"""Tests peakmark_find_cuda_toolkit() with toolkits of every kind that users have, made of scripts and empty headers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(asks LANGUAGES C)
include(%s/cmake/PeakmarkKernelSource.cmake)
peakmark_find_cuda_toolkit()
if(TARGET CUDA::cudart_static)
  set(runtime "has the static runtime")
endif()
message(STATUS "found: ${CUDAToolkit_VERSION}; ${runtime}; others ${peakmark_cuda_others}; error ${peakmark_cuda_error}.")
""" % ROOT


def toolkit(folder: Path, version: str, headers: bool = True, library: str = "lib64/libcudart_static.a") -> Path:
    """Makes a toolkit; without a version its nvcc does not run."""
    (folder / "bin").mkdir(parents=True)
    answer = f"echo 'Cuda compilation tools, release {version.rpartition('.')[0]}, V{version}'" if version else "exit 1"
    (folder / "bin/nvcc").write_text(f"#!/bin/sh\n{answer}\necho '#$ TOP={folder}'\n")
    (folder / "bin/nvcc").chmod(0o755)
    if headers:
        (folder / "include").mkdir()
        for name in ("cuda_runtime.h", "cupti.h"):
            (folder / "include" / name).touch()
    if library:
        (folder / library).parent.mkdir(parents=True)
        (folder / library).touch()
    return folder


def configure(folder: Path, *options: str, path: tuple[Path, ...] = (), **variables: str) -> str:
    (folder / "CMakeLists.txt").write_text(PROJECT)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CUDA")}
    # Only the tools that CMake needs, since an nvcc of this machine would be found.
    tools = folder / "tools"
    tools.mkdir()
    for name in ("cc", "gcc", "ld", "as", "ar", "make", "ninja", "sh", "cmake"):
        if place := shutil.which(name):
            (tools / name).symlink_to(place)
    kept |= {"PATH": ":".join(map(str, (*path, tools))), **variables}
    kept |= {"CMAKE_GENERATOR": "Ninja"}
    ended = subprocess.run(
        [shutil.which("cmake"), "-S", folder, "-B", folder / "build", *options], env=kept, text=True, capture_output=True, check=True
    )
    return next(line for line in ended.stdout.splitlines() if "found: " in line)


@pytest.mark.parametrize(
    ("version", "library"),
    [
        ("12.0.140", "lib64/libcudart_static.a"),
        ("12.4.131", "lib/x86_64-linux-gnu/libcudart_static.a"),  # nvidia-cuda-toolkit of Debian and Ubuntu
        ("13.0.88", "lib/libcudart_static.a"),  # ci/cuda-wheels: no shared library of the runtime
        ("13.2.10", "targets/x86_64-linux/lib/libcudart_static.a"),
    ],
)
@pytest.mark.parametrize("way", ["option", "CUDAToolkit_ROOT", "CUDA_HOME"])
def test_a_toolkit_is_found_in_each_layout_and_by_each_name(version, library, way, tmp_path):
    root = str(toolkit(tmp_path / "toolkit", version, library=library))
    line = configure(tmp_path, f"-DCUDAToolkit_ROOT={root}") if way == "option" else configure(tmp_path, **{way: root})
    assert f"found: {version}; has the static runtime; " in line
    assert line.endswith("; error .")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"version": "11.8.89"}, "is older than 12.0; install a newer toolkit and set CUDAToolkit_ROOT"),
        ({"version": "12.4.131", "headers": False}, "its headers or libcudart are missing; install the whole toolkit"),
        ({"version": "12.4.131", "library": ""}, "its headers or libcudart are missing; install the whole toolkit"),
        ({"version": ""}, "bin/nvcc does not run; install the toolkit again"),
    ],
)
@pytest.mark.parametrize("is_named", [True, False])
def test_an_unusable_toolkit_is_one_message(made, message, is_named, tmp_path):
    root = toolkit(tmp_path / "toolkit", **made)
    line = configure(tmp_path, f"-DCUDAToolkit_ROOT={root}") if is_named else configure(tmp_path, path=(root / "bin",))
    assert message in line
    assert str(root / "bin") in line


def test_a_wrong_root_is_not_replaced_by_another_toolkit(tmp_path):
    other = toolkit(tmp_path / "other", "12.9.86")
    line = configure(tmp_path, "-DCUDAToolkit_ROOT=/nowhere", path=(other / "bin",))
    assert "no bin/nvcc in CUDAToolkit_ROOT: /nowhere; name the root of a toolkit (there is " in line
    assert str(other) in line


def test_of_two_toolkits_the_other_is_named(tmp_path):
    used = toolkit(tmp_path / "used", "13.0.88")
    other = toolkit(tmp_path / "other", "12.4.131")
    line = configure(tmp_path, f"-DCUDAToolkit_ROOT={used}", path=(other / "bin",))
    assert "found: 13.0.88; " in line and line.endswith("; error .")
    assert str(other) in line.partition("others ")[2] and str(used) not in line.partition("others ")[2]


def test_nvcc_gets_a_compiler_that_it_supports(tmp_path):
    """Debian 13 has GCC 14, and CUDA 12.4 refuses it."""
    root = toolkit(tmp_path / "toolkit", "12.4.131")
    nvcc = root / "bin/nvcc"
    nvcc.write_text('#!/bin/sh\ncase "$*" in -E*/g++-13*) exit 0 ;; -E*) exit 1 ;; esac\n' + nvcc.read_text().partition("\n")[2])
    line = configure(tmp_path, f"-DCUDAToolkit_ROOT={root}")
    assert "supports none of the C++ compilers here; install an older one (g++-13 for CUDA 12.4) or set CUDAHOSTCXX" in line
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/g++-13").write_text("#!/bin/sh\n")
    (tmp_path / "bin/g++-13").chmod(0o755)
    shutil.rmtree(tmp_path / "tools")
    assert configure(tmp_path, f"-DCUDAToolkit_ROOT={root}", path=(tmp_path / "bin",)).endswith("; error .")
    assert f"PEAKMARK_CUDA_HOST_COMPILER:FILEPATH={tmp_path}/bin/g++-13" in (tmp_path / "build/CMakeCache.txt").read_text()


def test_ci_prints_the_lines_of_a_configuration_about_cuda(tmp_path):
    log = tmp_path / "log"
    log.write_text("-- Found fmt\n-- CUDA: built without it (no CUDA toolkit found; install one and set CUDAToolkit_ROOT)\n-- Done\n")
    ended = subprocess.run(["bash", "-c", f". ci/setup.sh; print_cuda {log}"], cwd=ROOT, text=True, capture_output=True, check=True)
    assert ended.stdout == "ci: CUDA: built without it (no CUDA toolkit found; install one and set CUDAToolkit_ROOT)\n"


def test_a_project_of_a_user_prints_why_its_kernels_have_no_cuda_image(tmp_path):
    (tmp_path / "x.kernel.h").write_text("PM_KERNEL(x) {}\n")
    (tmp_path / "x.cpp").write_text("")
    (tmp_path / "CMakeLists.txt").write_text(
        PROJECT.partition("peakmark_find_cuda_toolkit")[0].replace("LANGUAGES C", "LANGUAGES C CXX")
        + "add_library(x STATIC x.cpp)\npeakmark_add_kernel_source(x one x.kernel.h DTYPES f32)\npeakmark_add_kernel_source(x two x.kernel.h DTYPES f32)\n"
    )
    ended = subprocess.run(
        ["cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", "-DCUDAToolkit_ROOT=/nowhere"],
        text=True, capture_output=True, check=True,
    )  # fmt: skip
    lines = [line for line in ended.stdout.splitlines() if "without CUDA images" in line]
    assert len(lines) == 1 and "no bin/nvcc in CUDAToolkit_ROOT: /nowhere; name the root of a toolkit" in lines[0]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"version": "13.0.88"}, ""),
        ({"version": "13.2.10", "library": "targets/x86_64-linux/lib/libcudart_static.a"}, ""),
        ({"version": "12.4.131"}, "bin/nvcc is of CUDA 12.4.131, and CUDA 13 is needed"),
        ({"version": ""}, "bin/nvcc is of CUDA ?, and CUDA 13 is needed"),
        ({"version": "13.0.88", "headers": False}, "bin/nvcc has no libcudart_static.a or cupti.h next to it"),
        ({"version": "13.0.88", "library": ""}, "bin/nvcc has no libcudart_static.a or cupti.h next to it"),
    ],
)
def test_ci_takes_the_wheels_if_the_installed_toolkit_is_too_old_or_incomplete(made, reason, tmp_path):
    root = toolkit(tmp_path / "toolkit", **made)
    script = "set -euo pipefail; . ci/setup.sh; ci/cuda-wheels() { echo /wheels; }; find_cuda; echo \"${cuda_options[@]}\""
    ended = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=os.environ | {"CUDA_HOME": str(root)}, text=True, capture_output=True, check=True
    )
    expected = "-DPEAKMARK_CUDA=ON -DCUDAToolkit_ROOT=/wheels" if reason else "-DPEAKMARK_CUDA=ON"
    assert ended.stdout.splitlines()[-1] == expected
    assert reason in ended.stdout and ("NVIDIA's wheels are used" in ended.stdout) == bool(reason)


def test_wheels_without_an_index_say_what_to_do(tmp_path):
    ended = subprocess.run(
        [ROOT / "ci/cuda-wheels", tmp_path / "cuda"],
        env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stdout == ""
    [line] = ended.stderr.splitlines()
    assert line.startswith("ci/cuda-wheels: pip could not install NVIDIA's wheels: ERROR: No matching distribution found for nvidia-cuda-nvcc==")
    assert line.endswith("; check the network and pip's configuration")
