"""Tests external estimators in suites and on the command line."""

import json
import os
import subprocess
import sys

from recorded import environment, peakmark
from toy_suite import SUITE, folder, run, sweep  # noqa: F401


ESTIMATOR = """
[[estimator]]
name = "toy"
call = "python:toy_estimators:module"
form = "module"
other_dimensions = [1, "n"]
parameters = ["what"]
seconds = 30
"""


def with_estimator(folder, text, **estimators):
    """Writes the toy suite with an estimator for its program, in a module next to it."""
    functions = {
        "module": 'return 1110 if what == "well" else 0, 64',
        "too_low": "return 1000, 64",
        "raises": 'raise ValueError("not so")',
        "dies": "import os; os._exit(7)",
        **estimators,
    }
    (folder / "toy_estimators.py").write_text(
        "".join(f"def {name}(dims, dtype, what='well'):\n    {body}\n" for name, body in functions.items())
    )
    suite = SUITE.replace("[[program]]", '[[program]]\nestimator = "toy"') + ESTIMATOR + text
    (folder / "s.toml").write_text(suite)


def test_the_estimator_of_a_program_is_compared_with_its_peak(folder):
    with_estimator(folder, sweep("axes.n = [6, 20]"))
    cases, _ = run(folder, "--memory-only")
    assert cases["toy/marked/opencl/n:20"]["estimate"] == {
        "estimator": "toy", "form": "module", "slices_used": 20, "slices_estimated": 20,
        "bytes_estimated": 64 + 20 * 1110, "dtype": None, "error": None,
    }  # fmt: skip
    check = peakmark("check", "run.json", "--window", "1:1", "--json", cwd=folder)
    assert check.returncode == 0, check.stdout
    judged = {verdict["rule"]: verdict["judgement"] for verdict in json.loads(check.stdout)["verdicts"]}
    assert judged["window_slices"] == judged["window_bytes"] == "pass"


def test_warnings_of_an_estimator_that_answers_are_shown_once_with_its_name(folder):
    body = """import warnings
    warnings.warn("beyond n=10")
    warnings.warn("for developers", DeprecationWarning)
    return 1110, 64"""
    with_estimator(folder, sweep("axes.n = [6, 20]"), module=body)
    warning = "warning: estimator 'toy': UserWarning: beyond n=10\n"
    _, ran = run(folder, "--memory-only", "--sequences")
    assert ran.stderr.count("UserWarning") == ran.stderr.count(warning) == 1 and "for developers" not in ran.stderr
    assert peakmark("check", "run.json", cwd=folder).stderr.count(warning) == 1
    assert peakmark("explain", "run.json", "--against", "toy", cwd=folder).stderr.count(warning) == 1
    call = ["python:toy_estimators:module", "--form", "module", "--python", sys.prefix]
    warning = warning.replace("'toy'", "'python:toy_estimators:module'")
    asked = peakmark("estimate", *call, "--dimensions", "1,20", "--available", "1MiB", cwd=folder)
    assert asked.stderr == warning and asked.returncode == 0
    of_run = ["--other-dimensions", "1,n"]
    assert peakmark("estimate", *call, *of_run, "--run", "run.json", cwd=folder).stderr == warning
    against = peakmark("explain", "run.json", "--against", *call, *of_run, cwd=folder)
    assert against.stderr.count(warning) == 1
    fit = ["fit", "s.toml", "toy/marked", "n", "--budget", "100kB", "--predict", "estimator"]
    assert peakmark(*fit, cwd=folder, **environment()).stderr.count("estimator 'toy': UserWarning: beyond n=10\n") == 1


def test_other_estimators_are_judged_if_the_suite_names_them_and_errors_have_names(folder):
    calls = ["python:toy_estimators:too_low", "python:toy_estimators:raises", "python:toy_estimators:dies"]
    extra = "".join(
        f'[[estimator]]\nname = "{call.split(":")[-1]}"\ncall = "{call}"\nform = "module"\nother_dimensions = [1, 1]\n'
        for call in calls
    )
    with_estimator(folder, extra + sweep('axes.n = 20\nestimators = ["too_low", "raises", "dies"]'))
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    low, raises, dies = case["other_estimates"]
    assert (low["slices_estimated"], low["bytes_estimated"]) == (22, 20064)
    assert raises["error"].startswith("exception: Traceback") and raises["error"].endswith("ValueError: not so")
    assert dies["error"] == "died: its process ended with exit code 7"
    assert raises["slices_estimated"] is None and dies["bytes_estimated"] is None
    check = peakmark("check", "run.json", cwd=folder)
    assert check.returncode == 1
    assert "ValueError: not so" in check.stdout


def test_one_process_answers_about_all_cases_and_a_crash_costs_one_answer(folder):
    with_estimator(folder, sweep("axes.n = [6, 8, 20]"))
    run(folder, "--memory-only")
    (folder / "theirs.py").write_text(
        "import os\n"
        "def memory(dims, dtype, **axes):\n"
        "    open('asked', 'a').write(f'{os.getpid()} {dims[0]}\\n')\n"
        "    if dims[0] == 8: os._exit(7)\n"
        "    return 1110, 64\n"
    )
    ask = ["--form", "module", "--other-dimensions", "n,1", "--python", sys.prefix, "--json"]
    asked = peakmark("estimate", "python:theirs:memory", "--run", "run.json", *ask, cwd=folder)
    answers = [case["estimate"] for case in json.loads(asked.stdout)["cases"]]
    assert [one["bytes_estimated"] for one in answers] == [64 + 6 * 1110, None, 64 + 20 * 1110]
    assert answers[1]["error"] == "died: its process ended with exit code 7"
    # The question at which it died is asked again alone, since earlier questions may have been the reason.
    asked_of: dict[str, set[int]] = {}
    for line in (folder / "asked").read_text().splitlines():
        pid, n = line.split()
        asked_of.setdefault(pid, set()).add(int(n))
    assert list(asked_of.values()) == [{6, 8}, {8}, {20}]


def test_a_recorded_run_is_judged_by_another_estimator_without_measuring_again(folder, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    with_estimator(folder, sweep("axes.n = [6, 20]"))
    run(folder, "--memory-only")
    recorded = (folder / "run.json").read_bytes()
    ask = ["--form", "module", "--other-dimensions", "n,1", "--python", sys.prefix]
    for per_slice, code in ((1110, 0), (1000, 1)):
        (folder / "theirs.py").write_text(
            f"def memory(dims, dtype, **axes):\n    assert dims[0] in (6, 20) and 'n' not in axes\n    return {per_slice}, 64\n"
        )
        # Python takes compiled modules for current if size and time in seconds are equal, as for two commits in one second.
        os.utime(folder / "theirs.py", (1e9, 1e9))
        check = peakmark("check", "run.json", "--estimator", "python:theirs:memory", *ask, "--window", "1:1", cwd=folder)
        assert check.returncode == code, check.stdout + check.stderr
        estimate = peakmark("estimate", "python:theirs:memory", "--run", "run.json", *ask, "--json", cwd=folder)
        assert estimate.returncode == 0, estimate.stderr
        cases = {one["case"]: one["estimate"] for one in json.loads(estimate.stdout)["cases"]}
        assert cases["toy/marked/opencl/n:20"]["bytes_estimated"] == 64 + 20 * per_slice
    assert (folder / "run.json").read_bytes() == recorded


def test_built_in_variants_can_have_external_estimators_too(folder):
    (folder / "ours.py").write_text(
        "def padding(slice_dim, dims, dtype, available, mode, pad_y0, pad_y1, pad_x0, pad_x1):\n"
        "    slice_bytes = dtype.itemsize * dims[0] * dims[1]\n"
        "    padded = dtype.itemsize * (dims[0] + pad_y0 + pad_y1) * (dims[1] + pad_x0 + pad_x1)\n"
        "    return available // (slice_bytes + padded), dtype\n"
    )
    (folder / "s.toml").write_text(
        '[[sweep]]\nvariants = "padding/computed"\naxes.n = 10\naxes.pad_x0 = 7\nestimators = "python:ours:padding"\n'
    )
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    (estimate,) = case["other_estimates"]
    assert (estimate["error"], estimate["slices_estimated"], estimate["dtype"]) == (None, 10, "f32")
    assert estimate["bytes_estimated"] == case["requested_peak_bytes"]
    assert peakmark("check", "run.json", cwd=folder).returncode == 0


def test_estimate_calls_programs_and_functions(folder):
    with_estimator(folder, sweep(""))

    def estimate(*arguments):
        result = peakmark("estimate", *arguments, "--json", cwd=folder, **environment())
        return json.loads(result.stdout) if result.returncode == 0 else result.stderr

    answer = estimate("toy/marked", "n=5", "--suite", "s.toml", "--available", "9000")
    assert (answer["slices"], answer["bytes"]) == (8, 64 + 8 * 1110)
    assert estimate("toy/marked", "n=5", "--suite", "s.toml")["bytes"] == 64 + 5 * 1110
    answer = estimate("padding/coords1d", "n=5", "--suite", "s.toml")
    assert answer["slices"] == 5 and answer["terms"]

    call = "python:example_estimators:documented"
    answer = estimate(call, "--dimensions", "10,20", "--dtype", "float32", "--available", "14450", "kernel=[3, 3]", "x=none")
    assert (answer["slices"], answer["dtype"]) == (9, "f32")
    answer = estimate(
        "python:example_estimators:module", "--form", "module", "--dimensions", "10,20", "--slices", "2", "radius=7",
        "--padding", "example_estimators:padding", "--output-dimensions", "example_estimators:output_dims",
    )  # fmt: skip
    assert (answer["bytes"], answer["padding"], answer["output_dimensions"]) == (3207, [7, 7], [20, 20])
    assert "ZeroDivisionError: of its own making" in estimate(
        "python:example_estimators:raises", "--form", "module", "--dimensions", "10,20", "--slices", "1"
    )
    assert "unknown form 'modul'; did you mean 'module'?" in estimate(call, "--form", "modul", "--dimensions", "1,1")
    assert "--dimensions" in estimate(call)


def test_files_of_the_working_folder_do_not_replace_pythons_modules(tmp_path):
    for name in ("json", "argparse", "random", "secrets", "typing", "numpy", "peakmark"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken over')\n")
    (tmp_path / "theirs.py").write_text("import helper\ndef memory(dims, dtype):\n    return helper.bytes, 0\n")
    (tmp_path / "helper.py").write_text("bytes = 7\n")
    answer = peakmark(
        "estimate", "python:theirs:memory", "--form", "module", "--dimensions", "10,20", "--slices", "3", "--json",
        cwd=tmp_path, **environment() | {"PYTHONPATH": ":"},
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["bytes"] == 21


def test_what_the_user_must_fix_is_reported_once_before_anything_is_measured(folder):
    with_estimator(folder, sweep("axes.n = [6, 20]"))
    run(folder, "--memory-only")
    (folder / "run.json").rename(folder / "measured.json")
    (folder / "wrong.py").write_text("def memory(:\n")
    for call, error in (
        ("nowhere:memory", "nowhere:memory: No module named 'nowhere'"),
        ("toy_estimators:modul", "toy_estimators:modul: module 'toy_estimators' has no attribute 'modul'"),
        ("wrong:memory", "wrong:memory: its module cannot be imported: SyntaxError: "),
    ):
        suite = (folder / "s.toml").read_text().replace("python:toy_estimators:module", f"python:{call}")
        (folder / "missing.toml").write_text(suite)
        ran = peakmark("run", "missing.toml", "-o", "run.json", "--memory-only", cwd=folder, **environment())
        assert ran.returncode == 2, ran.stderr
        assert ran.stderr.count(error) == 1 and "missing.toml:" in ran.stderr
        assert not (folder / "run.json").exists()
        checked = peakmark(
            "check", "measured.json", "--estimator", f"python:{call}", "--form", "module", "--other-dimensions", "n,1",
            "--python", sys.prefix, cwd=folder,
        )  # fmt: skip
        assert checked.returncode == 2, checked.stdout
        assert checked.stderr.count(error) == 1


def test_an_estimator_that_hangs_is_ended_by_the_limit_of_the_command(folder):
    with_estimator(folder, sweep("axes.n = [6, 20]"), hangs="while True: pass")
    run(folder, "--memory-only")
    call = ["python:toy_estimators:hangs", "--form", "module", "--python", sys.prefix, "--seconds", "0.5"]
    late = "did not answer within 0.5 s; make it faster, or raise the limit with --seconds"
    asked = peakmark("check", "run.json", "--estimator", *call, "--other-dimensions", "n,1", cwd=folder)
    assert (asked.returncode, late in asked.stdout) == (1, True), asked.stderr
    assert "2 fail (2 estimator)" in asked.stdout
    asked = peakmark("estimate", *call, "--dimensions", "1,1", "--slices", "1", cwd=folder)
    assert (asked.returncode, late in asked.stderr) == (2, True)


def test_one_command_asks_all_methods_of_a_module_of_httomo_backends(folder):
    (folder / "supporting_funcs.py").write_text(
        "def _calc_memory_bytes_for_slices_paganin_filter(dims_shape, dtype, **kwargs):\n"
        "    assert dims_shape[1:] == (10, 20)\n"
        "    return 2 * dims_shape[0] * 800\n"
        "def _calc_memory_bytes_remove_stripe_ti(non_slice_dims_shape, dtype, pad=0, **kwargs):\n"
        "    return 800 + pad, 160\n"
        "def _calc_memory_bytes_raises(non_slice_dims_shape, dtype, **kwargs):\n"
        "    raise ValueError('not so')\n"
    )
    ask = ["--form", "httomo", "--dimensions", "10,20", "--slice-dimension", 1, "--python", sys.prefix]
    asked = peakmark("estimate", "python:supporting_funcs", "--available", 8160, "pad=200", "--json", *ask, cwd=folder)
    assert asked.returncode == 2, asked.stderr
    paganin, raises, ti = json.loads(asked.stdout)["methods"]
    assert (paganin["method"], paganin["slices"], paganin["bytes"], paganin["error"]) == ("paganin_filter", 5, 8000, None)
    assert (ti["method"], ti["slices"], ti["bytes"]) == ("remove_stripe_ti", 8, 8160)
    assert raises["slices"] is None and raises["error"].endswith("ValueError: not so")
    table = peakmark("estimate", "python:supporting_funcs", "--slices", 3, *ask, cwd=folder).stdout
    assert "paganin_filter         3   4800" in table and "raises: exception: Traceback" in table
    one = peakmark("estimate", "python:supporting_funcs:paganin_filter", "--slices", 3, "--json", *ask, cwd=folder)
    assert json.loads(one.stdout)["bytes"] == 4800
    missing = peakmark("estimate", "python:no_such_module", "--slices", 3, *ask, cwd=folder)
    assert (missing.returncode, missing.stderr) == (
        2, "peakmark: estimator 'python:no_such_module': not_found: no_such_module: No module named 'no_such_module'\n"
    )  # fmt: skip


def test_httomos_form_in_a_suite_is_judged_along_dimension_1(folder):
    extra = '[[estimator]]\nname = "httomo"\ncall = "python:httomo_funcs:toy"\nform = "httomo"\nother_dimensions = [1, 1]\n'
    with_estimator(folder, extra + sweep('axes.n = 20\nestimators = ["httomo"]'))
    (folder / "s.toml").write_text((folder / "s.toml").read_text().replace("slice_axis", "slice_dimension = 1\nslice_axis"))
    (folder / "httomo_funcs.py").write_text(
        "def _calc_memory_bytes_for_slices_toy(dims_shape, dtype, **kwargs):\n"
        "    assert dims_shape[1:] == (1, 1)\n"
        "    return 64 + 1110 * dims_shape[0]\n"
    )
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    (asked,) = case["other_estimates"]
    assert (asked["form"], asked["slices_estimated"], asked["bytes_estimated"], asked["error"]) == ("httomo", 20, 22264, None)


def test_the_stated_output_dtype_of_a_program_is_judged(folder):
    extra = '[[estimator]]\nname = "max"\ncall = "python:max_slices:max_slices"\nother_dimensions = [1, 1]\n'
    with_estimator(folder, extra + sweep('axes.n = 20\nestimators = ["max"]'))
    suite = (folder / "s.toml").read_text().replace("slice_axis", 'output_dtype = "float32"\nslice_axis')
    (folder / "s.toml").write_text(suite)
    (folder / "max_slices.py").write_text("def max_slices(dim, others, dtype, available, **axes):\n    return max(0, available - 64) // 1110, 'uint16'\n")
    cases, _ = run(folder, "--memory-only")
    (case,) = cases.values()
    assert (case["output_dtype"], case["other_estimates"][0]["dtype"]) == ("f32", "u16")
    check = peakmark("check", "run.json", "--json", cwd=folder)
    assert check.returncode == 1
    failed = [one for one in json.loads(check.stdout)["verdicts"] if one["judgement"] == "fail"]
    assert [one["rule"] for one in failed] == ["dtype"]
    (folder / "s.toml").write_text(suite.replace('"float32"', '"float33"'))
    refused = peakmark("run", "s.toml", "-o", "run.json", cwd=folder)
    assert refused.returncode == 2 and "output_dtype: unknown dtype 'float33'; did you mean 'float32'" in refused.stderr


def test_python_may_be_an_interpreter_and_a_missing_numpy_is_named_once_before_anything_runs(folder, tmp_path):
    with_estimator(folder, sweep("axes.n = [6, 20]"))
    suite = (folder / "s.toml").read_text()
    (folder / "s.toml").write_text(suite.replace("seconds = 30", f'python = "{sys.executable}"'))
    cases, _ = run(folder, "--memory-only")
    assert cases["toy/marked/opencl/n:20"]["estimate"]["bytes_estimated"] == 64 + 20 * 1110
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "empty"], check=True)
    (folder / "s.toml").write_text(suite.replace("seconds = 30", 'python = "./empty/bin/python"'))
    (folder / "run.json").unlink()
    refused = peakmark("run", "s.toml", "-o", "run.json", cwd=folder)
    assert refused.returncode == 2
    assert refused.stderr.count("numpy, which estimators need for their dtype argument, is missing in") == 1, refused.stderr
    assert not (folder / "run.json").exists() and not (folder / "run.json.partial").exists()
