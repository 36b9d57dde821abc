import types

import client_program
import peakmark
import pytest


@pytest.fixture
def pyopencl(monkeypatch):
    """Two platforms, of two devices and of one."""
    platforms = [types.SimpleNamespace(get_devices=lambda names=names: names) for names in (["a", "b"], ["c"])]
    module = types.SimpleNamespace(
        get_platforms=lambda: platforms,
        Context=lambda devices: devices,
        create_some_context=lambda interactive: ["its own choice"],
    )
    monkeypatch.setitem(__import__("sys").modules, "pyopencl", module)


def test_the_device_is_that_of_the_run(pyopencl, monkeypatch):
    for index, device in enumerate("abc"):
        monkeypatch.setenv("PEAKMARK_DEVICE", str(index))
        assert client_program.pyopencl_context() == [device]


def test_without_a_run_the_library_chooses(pyopencl, monkeypatch):
    monkeypatch.delenv("PEAKMARK_DEVICE", raising=False)
    assert client_program.pyopencl_context() == ["its own choice"]


def test_a_device_that_the_library_does_not_see_is_unsupported(pyopencl, monkeypatch, capsys):
    monkeypatch.setenv("PEAKMARK_DEVICE", "3")
    with pytest.raises(SystemExit) as end:
        client_program.pyopencl_context()
    assert end.value.code == peakmark.UNSUPPORTED
    assert "no OpenCL device 3 found, only 3" in capsys.readouterr().err
