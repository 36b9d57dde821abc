"""Tests that invalid marks of the plugin are errors with what to write."""

import re
import types
from pathlib import Path

import pytest
from peakmark.pytest_plugin.limits import KINDS
from project import Project, outcomes

pytest.importorskip("pyopencl", reason="it is in ci/requirements-test.txt")

BAD_MARKS = {
    'limit_device_memory("24 bananas")': "'24 bananas' is not a size: unknown unit 'bananas'; write bytes, or a number",
    "limit_device_memory()": '@pytest.mark.limit_device_memory: wrong arguments; give one size, such as "24 MB"',
    "limit_device_leaks(1.5)": "1.5, a float, is not a size",
    'check_estimator("there")': 'give one estimator as "package.module:function"',
    'check_estimator("m:f", form="guess", data="x")': "unknown form 'guess'; known are documented, direct",
    'check_estimator("m:f", n=3)': "give n and dimensions",
    'check_estimator("m:f", data="x", windows=1)': "unknown argument windows; known are arguments",
    'check_estimator("m:f", data="x", window=(2, 1))': "invalid window (2, 1)",
    'check_estimator("m:f", data="x", window=("0.8", "1.0"))': "invalid window ('0.8', '1.0'); write (min, max)",
    'check_estimator("m:f", data=3)': "data=3: write the name of the test argument with the input array",
    'check_estimator("m:f", data="x", slice_axis="0")': "slice_axis='0': write the number of an axis, 0 or more",
    'check_estimator("m:f", n=3, dimensions=(5,), slice_axis=9)': "slice_axis=9: the input has 2 axes (n and dimensions); write one from 0 to 1",
    'check_estimator("m:f", n=None, dimensions=(5,))': "n=None: write a number, 1 or more, or the name of a test argument",
    'check_estimator("m:f", n=3, dimensions=512)': "dimensions=512: write a tuple, such as (512, 512), of numbers",
    'check_estimator("m:f", n=3, dimensions=(5, 0.5))': "dimensions=(5, 0.5): write a tuple",
    'check_estimator("m:f", data="x", parameters=[1])': "parameters=[1]: write a dict, such as {'radius': 3}",
    'check_estimator("m:f", data="x", arguments="x")': "arguments='x': write a tuple of names of test arguments",
    'check_estimator("m:f", data="x", seconds="x")': "seconds='x': write a number above 0, max 86400",
    'check_estimator("m:f", data="x", of=["call"])': "of=['call']: write the name of a window of device_memory",
    'check_estimator("m:f", data="x", everything="no")': "everything='no': write True or False",
}


@pytest.fixture(scope="module")
def with_bad_marks(tmp_path_factory):
    tests = [f"@pytest.mark.{mark}\ndef test_{i}(): raise SystemExit\n" for i, mark in enumerate(BAD_MARKS)]
    return Project(tmp_path_factory.mktemp("bad_marks")).write(test_bad="\n".join(tests)).pytest(code=1)


@pytest.mark.xdist_group("bad marks")
@pytest.mark.parametrize("mark", BAD_MARKS)
def test_an_invalid_mark_is_an_error_with_what_to_write(with_bad_marks, mark):
    assert outcomes(with_bad_marks) == {"errors": len(BAD_MARKS)}
    assert BAD_MARKS[mark] in with_bad_marks


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "the argument 'x' is 3, not an array with shape and dtype"),
        (types.SimpleNamespace(shape=(4, 0), dtype="uint8"), "invalid number of slices or elements 0; it must be 1 or more"),
        (types.SimpleNamespace(shape=(4,), dtype="uint8"), "x has no axis 1; its shape is (4,)"),
    ],
)
def test_an_argument_that_is_not_an_input_is_an_error(value, message):
    from peakmark.pytest_plugin.limits import MarkError, make_question

    mark = types.SimpleNamespace(args=("m:f",), kwargs={"data": "x", "slice_axis": 1})
    with pytest.raises(MarkError) as raised:
        make_question(mark, {"x": value})
    assert message in str(raised.value)


def test_kinds_of_memory_are_those_of_the_recorders():
    source = (Path(__file__).resolve().parents[2] / "record/profile/event.cpp").read_text()
    kinds = set(re.findall(r'case MemoryKind::\w+:\s*return "(\w+)";', source))
    assert kinds - {"none"} == KINDS
