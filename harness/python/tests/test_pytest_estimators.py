"""The mark check_estimator, in projects that use pyopencl, on PoCL."""

import sys
from pathlib import Path

import pytest
from peakmark.estimator_check import EstimatorQuestion, ask
from project import Project

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "ci"))
from helpers import has_ended  # noqa: E402

pytest.importorskip("pyopencl", reason="it is in ci/requirements-test.txt")

ESTIMATED = """
import time
import warnings

def right(dimensions, dtype): return 2 * dimensions[0] * dimensions[1] * dtype.itemsize, 0
def low(dimensions, dtype): return dimensions[0] * dimensions[1] * dtype.itemsize, 0
def high(dimensions, dtype): return 4 * dimensions[0] * dimensions[1] * dtype.itemsize, 0
def throws(dimensions, dtype): raise ValueError("no idea")
def warns(dimensions, dtype):
    warnings.warn("small volumes only")
    return right(dimensions, dtype)
def sleeps(dimensions, dtype): time.sleep(600)
def documented(axis, dimensions, dtype, available, factor):
    return available // (factor * dimensions[0] * dimensions[1] * dtype.itemsize), dtype

@pytest.fixture
def volume(queue, n):
    return device_buffer(queue, n * 800)

@pytest.fixture(scope="module", autouse=True)
def of_nobody(queue):
    yield device_buffer(queue, 12345)

"""
ESTIMATED_TEST = """
@pytest.mark.parametrize("n", [{n}])
@pytest.mark.check_estimator("test_estimator:{function}", form="{form}", n="n", dimensions=(10, 20), {more})
def test_{i}(queue, volume, n):
    out = device_buffer(queue, n * 800)
"""

# function, form, n, more keys of the mark, expected message (empty if the test passes)
ESTIMATES = [
    ("right", "module", 1, "", ""),
    ("right", "module", 8, "", ""),
    ("documented", "documented", 8, "parameters={'factor': 2}", ""),
    ("low", "module", 8, "",
     "estimate of test_estimator:low too low: predicts 16 slices in 12.5 KiB (12800 B), but 8 slices used all of it (ratio "
     "2.000, window 0.8 to 1). Chunks sized by it run out of memory"),
    ("low", "module", 2, "", "too low: 1.562 KiB (1600 B) for 2 slices, but 3.125 KiB (3200 B) are needed (ratio 2.000"),
    ("low", "module", 8, "window=(0.8, 2)", ""),
    ("high", "module", 8, "", "Chunks sized by it are smaller than necessary"),
    ("throws", "module", 8, "", "ValueError: no idea"),
    ("warns", "module", 8, "", ""),
    ("warns", "module", 9, "", ""),
    ("sleeps", "module", 8, "seconds=2", "no_answer_in_time: estimator 'test_estimator:sleeps' did not answer within 2 s; make it"),
    ("nowhere", "module", 8, "", "estimator test_estimator:nowhere failed: not_found: test_estimator:nowhere"),
    ("right", "module", 8, "arguments=('radius',)", "the test has no argument 'radius'"),
    ("right", "module", 8, "of='call'", "the test opened no window 'call'"),
    ("right", "module", 8, "everything=True", "but 24.56 KiB (25145 B) are needed"),
]  # fmt: skip


@pytest.fixture(scope="module")
def estimated(tmp_path_factory):
    tests = [
        ESTIMATED_TEST.format(i=i, function=function, form=form, n=n, more=more)
        for i, (function, form, n, more, _) in enumerate(ESTIMATES)
    ]
    project = Project(tmp_path_factory.mktemp("estimators")).write(test_estimator=ESTIMATED + "".join(tests))
    said = project.pytest("--device-memory-json", "memory.json", code=1)
    return said, project.results()


@pytest.mark.xdist_group("estimators")
def test_warnings_of_an_estimator_that_answers_are_in_the_summary_once(estimated):
    said, _ = estimated
    assert said.count("PytestWarning: estimator test_estimator:warns: UserWarning: small volumes only") == 1


@pytest.mark.xdist_group("estimators")
@pytest.mark.parametrize("i", range(len(ESTIMATES)), ids=lambda i: "-".join(map(str, ESTIMATES[i][:4])))
def test_estimators_are_compared_with_the_peak(estimated, i):
    """Allocations of the test's own fixtures are counted, those of other fixtures are not."""
    said, results = estimated
    n, text = ESTIMATES[i][2], ESTIMATES[i][4]
    assert results[f"test_{i}[{n}]"]["outcome"] == ("failed" if text else "passed")
    assert text in said


def test_an_estimator_takes_its_shape_from_an_array_and_its_peak_from_a_window(project):
    project.write(
        test_array="""
        def estimator(dimensions, dtype, radius):
            assert dimensions == (4, 6) and dtype == np.uint16 and radius == 3
            return 2 * 4 * 6 * 2, 0

        @pytest.fixture
        def images(): return np.zeros((4, 10, 6), dtype=np.uint16)

        @pytest.mark.parametrize("radius", [3])
        @pytest.mark.check_estimator("test_array:estimator", form="module", data="images", slice_axis=1,
                                     arguments=("radius",), of="call")
        def test_it(queue, images, radius, device_memory):
            on_device = device_buffer(queue, images.nbytes)
            with device_memory.window("call"):
                result = device_buffer(queue, images.nbytes)
            for_the_verification = device_buffer(queue, 5 * images.nbytes)
        """
    ).pytest(code=0)


SHAPES = [(n, ny, nx) for n, ny, nx in zip(range(5, 21), (9, 14, 11, 25, 8) * 4, (7, 10, 13, 24, 31, 16, 9) * 4)]
FORGETS_A_COPY = """
def memory(dimensions, dtype):
    return 2 * dimensions[0] * dimensions[1] * dtype.itemsize, 0

def named(dimensions, dtype):
    image = dimensions[0] * dimensions[1] * dtype.itemsize
    return {"image": (image, 0), "result": (image // 2, 0), "copy": (0, 0)}

def allocate(queue, n, ny, nx):
    image = device_buffer(queue, 4 * n * ny * nx)
    result = device_buffer(queue, 4 * n * ny * nx)
    peakmark.name(image, "image")
    peakmark.name(result, "result")
    copy = None
    if nx % 2:
        copy = device_buffer(queue, 4 * n * ny * (nx + 1))
        peakmark.name(copy, "copy")
    return image, result, copy
"""


def test_causes_are_named_from_all_shapes_of_a_test(project):
    text = "import peakmark\n" + FORGETS_A_COPY
    for function, shapes in (("memory", SHAPES), ("named", SHAPES[:8])):
        text += f"""
@pytest.mark.parametrize(("n", "ny", "nx"), {shapes})
@pytest.mark.check_estimator("test_shapes:{function}", form="module", n="n", dimensions=("ny", "nx"))
def test_{function}(queue, n, ny, nx):
    kept = allocate(queue, n, ny, nx)
"""
    said = project.write(test_shapes=text).pytest("--device-memory-json", "memory.json", code=1)
    odd = sum(nx % 2 for _, _, nx in SHAPES)
    causes = said.partition("WHY ESTIMATES ARE WRONG")[2]
    assert f"test_shapes:memory is outside its window at {odd} of 16 shapes of test_shapes.py::test_memory\n" in causes
    assert "\tmissing: 4·n·ny·(nx + 1) when nx is odd, copy\n" in causes
    assert "test_shapes:named is outside its window at 8 of 8 shapes of test_shapes.py::test_named\n" in causes
    assert "result: counted with 1/2 of its element size\n" in causes
    first = project.results()["test_named[5-9-7]"]["estimates"][0]
    assert first["axes"] == {"n": 5, "ny": 9, "nx": 7, "dtype": "float32"}
    assert first["terms"][1] == {"name": "result", "per_slice_bytes": 126, "fixed_bytes": 0}


def test_equal_allocations_of_one_line_are_counted(project):
    said = project.write(
        test_equal=f"""
SHAPES = {SHAPES}

def three(dimensions, dtype):
    return 3 * dimensions[0] * dimensions[1] * dtype.itemsize, 0

@pytest.mark.parametrize(("n", "ny", "nx"), SHAPES)
@pytest.mark.check_estimator("test_equal:three", form="module", n="n", dimensions=("ny", "nx"))
def test_it(queue, n, ny, nx):
    kept = [device_buffer(queue, 4 * n * ny * nx) for _ in range(4)]
"""
    ).pytest(code=1)
    assert "\tmissing: 1 of 4 allocations of 4·n·ny·nx" in said.partition("WHY ESTIMATES ARE WRONG")[2], said


def test_fewer_shapes_than_formulas_need_say_so(project):
    said = project.write(
        test_few="import peakmark\n" + FORGETS_A_COPY + """
@pytest.mark.parametrize("nx", [7, 9])
@pytest.mark.check_estimator("test_few:memory", form="module", n=5, dimensions=(9, "nx"))
def test_it(queue, nx):
    kept = allocate(queue, 5, 9, nx)
"""
    ).pytest(code=1)
    assert "test_few:memory is outside its window at 2 of 2 shapes of test_few.py::test_it\n" in said
    assert "parametrize the test with 6 shapes or more: then the cause is named here" in said


def test_child_processes_of_an_estimator_end_with_it(tmp_path, monkeypatch):
    (tmp_path / "slow.py").write_text(
        "import pathlib, subprocess, time\n"
        "def started(dimensions, dtype):\n"
        "    child = subprocess.Popen(['sleep', '600'])\n"
        f"    pathlib.Path({str(tmp_path / 'child')!r}).write_text(str(child.pid))\n"
        "    time.sleep(600)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    answer = ask(EstimatorQuestion("slow:started", "module", 8, 0, (10,), "float32", seconds=5), 1000)
    assert answer.error.startswith("no_answer_in_time")
    assert has_ended(int((tmp_path / "child").read_text()), 60)
