"""Tests kinds of tests: methods, unittest, coroutines, tests that fail in their setup, tests that are marked while they run."""

import pytest
from project import outcomes

pytest.importorskip("pyopencl", reason="it is in ci/requirements-test.txt")


def test_every_kind_of_test(project):
    said = project.write(
        test_kinds="""
        import unittest

        @pytest.mark.limit_device_memory("100 B")
        class TestOfAClass:
            def test_kept(self, queue):
                buffer = device_buffer(queue, 100)

            def test_class_101(self, queue):
                buffer = device_buffer(queue, 101)

            @pytest.mark.limit_device_memory("200 B")
            def test_nearer(self, queue):
                buffer = device_buffer(queue, 200)

        @pytest.mark.parametrize("size", [102, pytest.param(103, marks=pytest.mark.limit_device_memory("103 B"))])
        @pytest.mark.limit_device_memory("101 B")
        def test_parametrized(queue, size):
            buffer = device_buffer(queue, size)

        @pytest.fixture
        def broken(queue):
            kept = device_buffer(queue, 104)
            raise ValueError("no images")

        @pytest.mark.limit_device_memory("1 B")
        @pytest.mark.check_estimator("m:f", n=1, dimensions=(1,))
        def test_set_up_fails(broken): pass

        @pytest.fixture
        def marking(request):
            request.node.add_marker(pytest.mark.limit_device_memory("99 B"))

        def test_marked_by_a_fixture_105(queue, marking):
            buffer = device_buffer(queue, 105)

        @pytest.fixture
        def marking_wrongly(request):
            request.node.add_marker(pytest.mark.limit_device_memory("many"))

        def test_marked_wrongly_by_a_fixture(queue, marking_wrongly):
            raise SystemExit

        @pytest.mark.limit_device_memory("1 B")
        class TestOfUnittest(unittest.TestCase):
            def setUp(self):
                self.queue = cl.CommandQueue(cl.create_some_context(interactive=False))

            def test_106(self):
                buffer = device_buffer(self.queue, 106)

            def test_own_failure(self):
                buffer = device_buffer(self.queue, 107)
                self.assertEqual("this", "that")

            def test_skips(self):
                buffer = device_buffer(self.queue, 108)
                self.skipTest("not today")
        """
    ).pytest("--device-memory-json", "memory.json", "-rs", code=1)
    results = project.results()
    problems = {test for test, one in results.items() if one["problem"]}
    assert problems == {"test_class_101", "test_parametrized[102]", "test_marked_by_a_fixture_105", "test_106"}
    assert outcomes(said) == {"failed": 6, "passed": 3, "skipped": 1, "error": 1}
    for size, limit in (("101 B", "100 B"), ("102 B", "101 B"), ("105 B", "99 B"), ("106 B", "1 B")):
        assert f"{size} of device memory at the peak, limit {limit}" in said
    assert "@pytest.mark.limit_device_memory: 'many' is not a size" in said and "INTERNALERROR" not in said
    assert "ValueError: no images" in said
    assert "AssertionError: 'this' != 'that'" in said and "not today" in said
    assert results["test_own_failure"]["outcome"] == "failed" and results["test_skips"]["outcome"] == "skipped"


def test_reports_within_a_test_and_outcomes_that_others_change(project):
    """Like pytest's subtests: a report while the test runs, and an outcome after it has ended."""
    project.folder.joinpath("conftest.py").write_text(
        """
import pytest

@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if item.name == "test_with_a_part" and report.when == "call" and report.outcome == "passed":
        report.outcome, report.longrepr = "failed", "a part of it has failed"
"""
    )
    said = project.write(
        test_parts="""
        def part_that_fails(request):
            call = pytest.CallInfo.from_call(lambda: [][0], when="call")
            report = request.node.ihook.pytest_runtest_makereport(item=request.node, call=call)
            request.node.ihook.pytest_runtest_logreport(report=report)

        def test_with_a_part(queue, request):
            buffer = device_buffer(queue, 10)
            part_that_fails(request)

        @pytest.mark.limit_device_memory("9 B")
        def test_limited(queue, request):
            buffer = device_buffer(queue, 10)
            part_that_fails(request)
        """
    ).pytest("--device-memory-json", "memory.json", code=1)
    assert {test: one["outcome"] for test, one in project.results().items()} == {
        "test_with_a_part": "failed", "test_limited": "failed",
    }  # fmt: skip
    assert "FAILED test_parts.py::test_limited - IndexError" in said
    assert said.count("DEVICE MEMORY PROBLEM") == 1
