"""Leaks of repeated calls, and limits of kinds of memory, in the pytest plugin."""

import pytest
from project import outcomes

pytest.importorskip("pyopencl", reason="it is in ci/requirements-test.txt")


def test_a_leak_of_each_call_fails(project):
    said = project.write(
        test_leaks="""
        import peakmark
        kept = []

        @pytest.mark.limit_device_leaks("0 B", calls=6)
        def test_leaks(queue):
            device_buffer(queue, 1 << 20)
            kept.append(device_buffer(queue, 100))
            peakmark.name(kept[-1], "the cache")

        @pytest.mark.limit_device_leaks("100 B", calls=6)
        def test_within_its_limit(queue):
            kept.append(device_buffer(queue, 100))

        @pytest.mark.limit_device_leaks("0 B", calls=8)
        def test_warms_up(queue):
            if len(kept) < 14:
                kept.append(device_buffer(queue, 100))

        @pytest.mark.limit_device_leaks("0 B", calls=6)
        def test_cycle(queue):
            cycle = [device_buffer(queue, 50)]
            cycle.append(cycle)
        """
    ).pytest("--device-memory-stacks", code=1)
    assert outcomes(said) == {"failed": 1, "passed": 3}
    assert "100 B of device memory leaked by each call, limit 0 B; 6 calls" in said
    assert "Left behind:\n\t- the cache: buffer, " in said and "-> 500 B by 5 calls, 100 B each time" in said
    assert "test_leaks.py:" in said.partition("the cache: buffer, ")[2].partition("->")[0]


def test_the_fixture_repeats_a_call(project):
    project.write(
        test_repeats="""
        def test_repeats(queue, device_memory):
            kept = []

            def call():
                device_buffer(queue, 1000)
                kept.append(device_buffer(queue, 10))

            found = device_memory.repeat(call, calls=5)
            assert found.verdict == "leak: 10 B each time"
            assert found.live_after_bytes == (10, 20, 30, 40, 50)
            assert [(one.kind, one.bytes_per_repetition) for one in found.leaks] == [("buffer", 10)]
            assert found.leaked_bytes_per_call == 10 and found.peak_drift_bytes == 0
            assert device_memory.repeat(lambda: device_buffer(queue, 1000)).verdict == "steady"
            with pytest.raises(ValueError, match="too few calls to find a leak: 3; make 4 or more"):
                device_memory.repeat(call, calls=3)
        """
    ).pytest(code=0)


def test_a_test_that_fails_or_skips_keeps_its_outcome(project):
    said = project.write(
        test_outcomes="""
        @pytest.mark.limit_device_leaks("0 B", calls=4)
        def test_fails(queue):
            assert device_buffer(queue, 10) is None

        @pytest.mark.limit_device_leaks("0 B", calls=4)
        def test_skips(queue):
            device_buffer(queue, 10)
            pytest.skip("not here")
        """
    ).pytest(code=1)
    assert outcomes(said) == {"failed": 1, "skipped": 1}


def test_kinds_have_limits_of_their_own(project):
    said = project.write(
        test_kinds="""
        def host(queue, size):
            return cl.Buffer(queue.context, cl.mem_flags.USE_HOST_PTR, hostbuf=np.zeros(size, np.uint8))

        @pytest.mark.limit_device_memory("1 KiB", host_pointer="99 B")
        def test_host(queue):
            kept = device_buffer(queue, 1024), host(queue, 100)

        @pytest.mark.limit_device_memory(buffer="99 B", image="0 B")
        def test_buffer(queue):
            kept = device_buffer(queue, 100)

        @pytest.mark.limit_device_memory(host_pinned="0 B", host_pointer="100 B")
        def test_within(queue):
            kept = device_buffer(queue, 100), host(queue, 100)
        """
    ).pytest("--device-memory-json", "memory.json", code=1)
    assert outcomes(said) == {"failed": 2, "passed": 1}
    assert "100 B of host_pointer memory at its peak, limit 99 B" in said
    assert "100 B of buffer memory at its peak, limit 99 B" in said
    assert project.results()["test_within"]["memory"]["by_kind"] == {"buffer": 100, "host_pointer": 100}


def test_wrong_marks(project):
    said = project.write(
        test_marks="""
        @pytest.mark.limit_device_memory(texture="0 B")
        def test_kind(): raise SystemExit

        @pytest.mark.limit_device_leaks("0 B", calls=3)
        def test_calls(): raise SystemExit

        @pytest.mark.limit_device_leaks("0 B", times=8)
        def test_times(): raise SystemExit

        @pytest.mark.limit_device_leaks("0 B", calls=8)
        async def test_coroutine(): raise SystemExit
        """
    ).pytest(code=1)
    assert "unknown kind of memory 'texture'; known are alloc_host_ptr, array, buffer" in said
    assert "calls=3: write a number, 4 or more" in said
    assert '@pytest.mark.limit_device_leaks: wrong arguments; give one size, such as "24 MB"' in said
    assert "only a test that is a plain function can be repeated" in said
