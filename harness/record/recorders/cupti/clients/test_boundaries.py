"""What the fakes do not do: private interfaces, NVIDIA's own runtime, figures that could pass for those of a device."""
import ctypes
import os
import pathlib
import subprocess

import pytest

NOT_SUPPORTED = 801


def load(client):
    folder = client("bindings_program.py").environment["LD_LIBRARY_PATH"].split(os.pathsep)[1]
    return ctypes.CDLL(folder + "/libcuda.so.1")


def test_private_tables_are_refused(client):
    cuda = load(client)
    assert cuda.cuInit(0) == 0
    table = ctypes.c_void_p()
    for identity in (bytes(16), bytes(range(16)), os.urandom(16)):
        assert cuda.cuGetExportTable(ctypes.byref(table), identity) == NOT_SUPPORTED
        assert table.value is None


def test_functions_have_the_versions_of_the_header(client):
    cuda = load(client)

    def find(name, version, flags=0):
        function, state = ctypes.c_void_p(), ctypes.c_int()
        assert cuda.cuGetProcAddress_v2(name, ctypes.byref(function), version, ctypes.c_uint64(flags), ctypes.byref(state)) == 0
        return function.value, state.value

    def address(symbol):
        return ctypes.cast(getattr(cuda, symbol), ctypes.c_void_p).value

    assert find(b"cuMemAlloc", 12000) == (address("cuMemAlloc_v2"), 0)
    assert find(b"cuMemAlloc", 3000) == (address("cuMemAlloc"), 0)
    assert find(b"cuCtxCreate", 11040) == (address("cuCtxCreate_v3"), 0)
    assert find(b"cuMemcpyHtoD", 12000, 2) == (address("cuMemcpyHtoD_v2_ptds"), 0)
    assert find(b"cuLaunchKernel", 12000, 2) == (address("cuLaunchKernel_ptsz"), 0)
    assert find(b"cuMemAllocAsync", 11010) == (None, 2)  # needs 11.2
    assert find(b"cuNoSuchFunction", 13000) == (None, 1)


def test_a_program_with_the_static_runtime_ends_with_its_own_error(client):
    one = client("bindings_program.py")
    fakes = pathlib.Path(one.environment["LD_LIBRARY_PATH"].split(os.pathsep)[1])
    program = fakes.parents[1] / "peakmark-every-allocation"
    done = subprocess.run([program], env=one.environment, capture_output=True, text=True, check=False)
    assert done.returncode not in (0, -6, -11), done.stdout + done.stderr
    assert done.stderr


def test_no_command_lists_the_fake_as_a_device(client):
    done = client("bindings_program.py").run("devices", "--json")
    assert '"backend": "cuda"' not in done.stdout and '"backend":"cuda"' not in done.stdout


def test_nothing_of_the_fakes_is_installed(client):
    folder = pathlib.Path(client("bindings_program.py").command).resolve().parent
    if folder.name != "bin":
        pytest.skip("PEAKMARK_COMMAND names no installed program")
    names = [path.name for path in folder.parent.rglob("*")]
    assert "peakmark" in names
    assert not [name for name in names if name.startswith(("libcuda.", "libcudart.", "libcupti.")) or "fake" in name]
