"""PyCUDA, numba-cuda and cuda-bindings under `peakmark record`: the profile equals the accounting of the client."""
import json

import pytest

from conftest import HERE, kinds


def line_of(program, text):
    """Returns NAME.py:LINE of the only line with the text."""
    lines = [number for number, line in enumerate((HERE / program).read_text().splitlines(), 1) if text in line]
    assert len(lines) == 1
    return f"{program}:{lines[0]}"


def test_bindings_have_each_kind_to_the_byte(client):
    books, shown = client("bindings_program.py").record()
    assert shown["requested"]["peak_bytes"] == books["peak"] == 3_035_003
    assert shown["requested"]["live_at_end_bytes"] == books["left"]
    assert kinds(shown)["host_pinned"] == books["host"]
    assert kinds(shown)["managed"] == 30_000
    assert kinds(shown)["pool_async"] == 5_000
    assert kinds(shown)["pitched"] == 1024 * 77
    assert "fake" in books["device"]


def test_numba_has_the_peak_that_its_arrays_have(client):
    books, shown = client("numba_program.py").record()
    assert shown["requested"]["peak_bytes"] == books["peak"] == 3 * 8 * 1_000_003
    assert shown["requested"]["live_at_end_bytes"] == 0


def test_numba_has_pinned_and_managed_memory(client):
    books, shown = client("numba_program.py").record("kinds")
    found = kinds(shown)
    assert found["managed"] == books["managed"]
    assert sum(size for kind, size in found.items() if kind.startswith("host_")) == books["host"]


def test_call_sites_are_lines_of_the_program(client):
    numba = client("numba_program.py")
    numba.record(options=["--stacks"])
    sites = numba.show("--by", "site", "--frames", "30")
    for text in ("left = cuda.to_device(host)", "right = cuda.device_array_like(left)"):
        assert line_of("numba_program.py", text) in sites


def test_a_leak_of_numba_is_found(client):
    numba = client("numba_program.py")
    numba.record("leak", options=["--repeat-call", "6"], code=1)
    assert "(4096 B) each time" in numba.output + numba.errors
    assert line_of("numba_program.py", "kept.append(") in numba.show("--by", "site", "--frames", "30")


def test_a_budget_makes_numba_fail_in_its_own_words(client):
    numba = client("numba_program.py")
    _, shown = numba.record(options=["--budget", "16MiB"], code=1)
    assert "CUDA_ERROR_OUT_OF_MEMORY" in numba.errors
    assert shown["requested"]["peak_bytes"] == 2 * 8 * 1_000_003
    assert shown["refused"][0]["bytes"] == 8 * 1_000_003
    assert shown["refused"][0]["refused_by"] == "budget"


@pytest.fixture
def pycuda(client):
    return client("pycuda_program.py")


def test_the_pool_of_pycuda_is_recorded_to_the_byte(pycuda):
    books, shown = pycuda.record("pool")
    assert shown["requested"]["peak_bytes"] == books["peak"]
    assert books["active"] < books["peak"], "a pool rounds up"


def test_a_kernel_of_pycuda_is_compiled_and_launched(pycuda):
    books, shown = pycuda.record("kernel")
    assert shown["requested"]["peak_bytes"] == books["peak"]
    assert books["registers"] > 0


def test_a_leak_of_pycuda_is_found(pycuda):
    pycuda.record("leak", options=["--repeat-call", "6"], code=1)
    assert "(12345 B) each time" in pycuda.output + pycuda.errors
    assert line_of("pycuda_program.py", "kept.append(") in pycuda.show()


@pytest.mark.parametrize(("options", "outcome"), [([], "handled"), (["--once"], "retried")])
def test_oom_sees_that_pycuda_collects_garbage_and_allocates_again(pycuda, options, outcome):
    """The second attempt finds memory only if the device is full for one allocation."""
    done = pycuda.run("oom", "--json", *options, "--", *pycuda.words, "batch", 1_000_000)
    assert done.returncode == 0, done.stdout + done.stderr
    refusals = json.loads(done.stdout)["refusals"]
    assert [(one["bytes"], one["outcome"]) for one in refusals] == [(1_000_000, outcome)]


def test_a_budget_makes_pycuda_fail_in_its_own_words(pycuda):
    _, shown = pycuda.record("batch", 5_000_000, options=["--budget", "4MiB"], code=1)
    assert "out of memory" in pycuda.errors
    assert shown["refused"][0]["bytes"] == 5_000_000
    assert shown["refused"][0]["count"] == 2, "PyCUDA tries twice"


def test_fit_finds_what_pycuda_can_allocate(pycuda):
    done = pycuda.run("fit", "n=1..100", "--budget", "64MiB", "--json", "--", *pycuda.words, "batch", "{n}000000")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["value"] == 67
