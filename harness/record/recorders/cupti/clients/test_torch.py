"""torch under `peakmark record`: the profile equals max_memory_reserved. torch has the path of NVIDIA's runtime in itself, which
refuses the fake driver, so the runtime of this folder is loaded first; so is the fake CUPTI."""
import os
import pathlib

import pytest

from conftest import ROOT



@pytest.fixture
def torch(client):
    runtime = os.environ.get("PEAKMARK_OWN_CUDART") or str(
        ROOT / "build/release/harness/record/recorders/cupti/clients/lib/libcudart.so.13")
    assert pathlib.Path(runtime).exists()
    cupti = client("torch_program.py").environment["LD_LIBRARY_PATH"].split(os.pathsep)[0] + "/libcupti.so.13"
    return client("torch_program.py", LD_PRELOAD=f"{runtime}:{cupti}", PYTORCH_NVML_BASED_CUDA_CHECK="0")


@pytest.mark.parametrize("word", ["network", "adam"])
def test_the_allocator_of_torch_is_recorded_to_the_byte(torch, word):
    books, shown = torch.record(word)
    assert shown["requested"]["peak_bytes"] == books["peak"]
    assert set(shown["by_kind"]) == {"device"}
    assert "fake" in books["device"]


def test_a_leak_of_torch_is_found(torch):
    torch.record("leak", options=["--repeat-call", "6"], code=1)
    assert f"({30 << 20} B) each time" in torch.output + torch.errors


def test_a_budget_makes_torch_fail_in_its_own_words(torch):
    _, shown = torch.record("batch", 100 << 20, options=["--budget", "64MiB"], code=1)
    assert "CUDA out of memory" in torch.errors
    assert shown["refused"][0]["bytes"] == 100 << 20
    assert shown["refused"][0]["refused_by"] == "budget"
