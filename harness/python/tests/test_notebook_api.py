"""Tests the functions for notebooks: record(), load(), plot_memory()."""

import json
import subprocess
import sys

import pytest
from recorded import environment, measured, peakmark

import peakmark as module


def test_record_knows_the_peak_and_shows_itself(tmp_path):
    shown = measured(
        tmp_path,
        """
        import json, peakmark
        peakmark.load_recorders()
        from small_opencl import Context
        context = Context()
        with peakmark.record("two <buffers>") as profile:
            first = context.buffer(1000)
            peakmark.name(first, "<b>first</b>")
            context.buffer(500).release()
        table = profile.to_pandas()
        print(json.dumps([profile.peak_bytes, profile.left_bytes, repr(profile), profile._repr_html_(),
                          [live for _, live in profile.timeline()], list(table["bytes"])]))
        """,
    )
    assert shown[:2] == [1500, 1000]
    assert shown[2] == "<Profile 'two <buffers>', peak 1.465 KiB (1500 B), left 1000 B>"
    page = shown[3]
    assert "two &lt;buffers&gt;" in page and "&lt;b&gt;first&lt;/b&gt;" in page and "<b>first" not in page
    assert "1.465 KiB (1500 B)" in page and "<svg" in page and ">1.465 KiB</text>" in page
    assert shown[4:] == [[1000, 1500, 1000], [1000, 500]]


def test_record_loads_the_recorder(tmp_path):
    shown = measured(
        tmp_path,
        """
        import json, peakmark
        with peakmark.record() as profile:
            from small_opencl import Context
            buffer = Context().buffer(10)
        print(json.dumps(profile.peak_bytes))
        """,
    )
    assert shown == 10


def test_record_raises_if_it_is_too_late(tmp_path):
    shown = measured(
        tmp_path,
        """
        import json, peakmark
        from small_opencl import Context
        context = Context()
        try:
            with peakmark.record() as profile: pass
        except peakmark.RecorderTooLate as error:
            print(json.dumps([str(error), profile._repr_html_() if "profile" in dir() else None]))
        """,
    )
    assert "Run the program with `peakmark record -- PROGRAM`, or call peakmark.load_recorders() before" in shown[0]


def test_a_profile_that_has_not_begun_or_is_open_or_empty_is_displayed(tmp_path):
    shown = measured(
        tmp_path,
        """
        import json, peakmark
        profile = peakmark.record("call")
        shown = [profile._repr_html_()]
        try: profile.peak_bytes
        except peakmark.RecorderError as error: shown.append(str(error))
        with profile:
            shown.append(profile._repr_html_())
        print(json.dumps([*shown, profile._repr_html_()]))
        """,
    )
    assert shown == [
        "<pre>&lt;Profile &#x27;call&#x27;, not begun&gt;</pre>",
        "the window has not begun; use it in a `with` statement",
        "<pre>&lt;Profile &#x27;call&#x27;, open&gt;</pre>",
        "<pre>&lt;Profile &#x27;call&#x27;, nothing recorded&gt;</pre>",
    ]


def test_marks_do_not_import_large_modules():
    code = "import sys, peakmark; print([one for one in sys.modules if one in ('pandas', 'numpy', 'peakmark.windows')])"
    run = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_a_name_must_be_a_str():
    with pytest.raises(TypeError, match="peakmark.record: name must be a str, not function"):
        module.record(lambda: None)


def test_names_of_the_module():
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        getattr(module, name)
    with pytest.raises(AttributeError, match="module 'peakmark' has no attribute 'nonsense'"):
        _ = module.nonsense


@pytest.fixture(scope="module")
def run_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    suite = folder / "suite.toml"
    suite.write_text('[[sweep]]\nvariants = "padding/*"\naxes.ny = [16, 32, 64, 128]\naxes.nx = [64]\naxes.mode = ["edge"]\n')
    run = peakmark("run", suite, "-o", folder / "run.json", "--backend", "dry", "--memory-only")
    if run.returncode != 0 and "peakmark-bench" in run.stderr:
        pytest.skip("the worker peakmark-bench is not built")
    assert run.returncode == 0, run.stderr
    return folder / "run.json"


def test_a_run_is_a_table(run_file):
    pandas = pytest.importorskip("pandas")
    cases = module.load(run_file)
    assert isinstance(cases, pandas.DataFrame)
    first = json.loads(run_file.read_text())["benchmarks"]
    shown = {row["peakmark"]["case"]: row["peakmark"]["requested_peak_bytes"] for row in first if "peakmark" in row}
    assert dict(zip(cases["case"], cases["peak"])) == shown
    assert cases.attrs["peakmark"]["backend"] == "dry"


def test_plot_memory_keeps_the_programs_backend(run_file):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("svg")
    import matplotlib.pyplot

    cases = module.load(run_file)
    for drawn in (run_file, str(run_file), cases, cases[cases["axis:ny"] > 16]):
        figure = module.plot_memory(drawn)
        assert figure._repr_png_().startswith(b"\x89PNG")  # a notebook displays this
        assert figure.axes and matplotlib.pyplot.get_fignums() == []
    assert matplotlib.get_backend() == "svg"
    assert module.plot_memory(cases, operation="padding").axes


def test_a_run_that_cannot_be_plotted_is_an_error(run_file, tmp_path):
    pandas = pytest.importorskip("pandas")
    cases = module.load(run_file)
    with pytest.raises(module.RunError, match="a line needs three shapes"):
        module.plot_memory(cases[cases["axis:ny"] == 16])
    with pytest.raises(module.RunError, match="unknown operation 'filter'; the run has padding"):
        module.plot_memory(cases, operation="filter")
    with pytest.raises(module.RunError, match="no attrs of peakmark.load"):
        module.plot_memory(pandas.DataFrame({"peak": [1]}))
    other = tmp_path / "other.json"
    other.write_text("{}")
    with pytest.raises(module.RunError, match="not a run file of peakmark"):
        module.load(other)
