import json
import os
import subprocess
import sys
import warnings

import example_estimators
import numpy as np
import pytest
from recorded import TESTS, environment

from peakmark.estimator_check import EstimatorQuestion, ask
from peakmark.estimators import answer, check_found, list_methods

# httomo's own example: https://diamondlightsource.github.io/httomo
HTTOMO = {"slice_dimension": 0, "other_dimensions": [10, 20], "dtype": "float32", "available_bytes": 14450}


def asked(function, form, **more):
    return answer({"function": f"example_estimators:{function}", "form": form, **HTTOMO, **more})


@pytest.mark.parametrize(
    ("function", "form"),
    [
        ("documented", "documented"),
        ("direct", "direct"),
        ("direct_of", "direct"),
        ("module", "module"),
        ("iterative", "iterative"),
        ("numpy_integers", "module"),
    ],
)
@pytest.mark.parametrize("slice_dimension", [0, 1])
def test_every_form_gives_9_slices_for_httomos_example(function, form, slice_dimension):
    result = asked(function, form, slice_dimension=slice_dimension, slices=9)
    assert result["error"] is None
    assert result["slices"] == 9
    assert result["bytes"] in (14400, 14401)  # rounded up
    assert result["dtype"] == ("float32" if form == "documented" else None)
    # The bytes of nine slices suffice for nine slices, and less do not.
    assert asked(function, form, available_bytes=result["bytes"])["slices"] == 9
    assert asked(function, form, available_bytes=result["bytes"] - 2)["slices"] == 8
    assert asked(function, form, available_bytes=0)["slices"] == 0


def test_parameters_output_dimensions_and_padding_reach_the_functions():
    result = asked(
        "module", "module", parameters={"radius": 50}, slices=1,
        output_dimensions="example_estimators:output_dims", padding="example_estimators:padding",
    )  # fmt: skip
    assert result["bytes"] == 1650
    assert result["output_dimensions"] == [20, 20]
    assert result["padding"] == [50, 50]
    assert asked("direct_of", "direct", parameters={"scale": 2})["slices"] == 4


TERMS = [
    {"name": "input", "per_slice_bytes": 800, "fixed_bytes": 0},
    {"name": "output", "per_slice_bytes": 800, "fixed_bytes": 0},
    {"name": "tables", "per_slice_bytes": 0, "fixed_bytes": 50},
]


@pytest.mark.parametrize("function", ["named", "named_in_a_list"])
def test_terms_have_names_and_add_up_to_the_bytes(function):
    result = asked(function, "module", slices=9)
    assert (result["slices"], result["bytes"], result["error"]) == (9, 9 * 1600 + 50, None)
    assert result["terms"] == TERMS
    assert asked(function, "module")["terms"] is None  # bytes were not asked for


def test_terms_of_an_iterative_estimator_are_bytes_of_all_slices():
    result = asked("named_iterative", "iterative", slices=9, available_bytes=9 * 1600 + 50)
    assert (result["slices"], result["bytes"]) == (9, 9 * 1600 + 50)
    assert result["terms"] == [
        {"name": "images", "per_slice_bytes": 0, "fixed_bytes": 9 * 1600},
        {"name": "tables", "per_slice_bytes": 0, "fixed_bytes": 50},
    ]


def test_unrequested_values_are_none():
    assert asked("module", "module")["bytes"] is None
    assert asked("module", "module", available_bytes=None, slices=2)["slices"] is None


@pytest.mark.parametrize(
    ("function", "form", "name"),
    [
        ("negative", "module", "negative: a slice is -1"),
        ("negative_fixed", "module", "negative: the fixed part is -1"),
        ("nan", "module", "not_a_number: a slice is NaN"),
        ("infinite", "module", "infinite: a slice is inf"),
        ("zero", "module", "zero_per_slice: "),
        ("same_bytes", "iterative", "zero_per_slice: "),
        ("too_large", "module", "too_large: a slice is 9223372036854775808"),
        ("almost_nothing", "direct", "too_large: the number of slices is "),
        ("numpy_nan", "module", "not_a_number: a slice is NaN"),
        ("numpy_infinite", "module", "infinite: a slice is inf"),
        ("a_numpy_truth", "module", "wrong_type: a slice is "),
        ("a_text", "module", "wrong_type: a slice is '800', a str"),
        ("a_truth", "module", "wrong_type: a slice is True, a bool"),
        ("named_negative", "module", "negative: a slice of input is -1"),
        ("named_number", "module", "wrong_type: it returned 800; it must return (bytes per slice, fixed bytes) for each name"),
        ("named_by_number", "module", "wrong_type: the name of a term is 7; it must be a string"),
        ("named_nothing", "module", "zero_per_slice: "),
        ("one_number", "module", "wrong_type: it returned 800; it must return (bytes per slice, fixed bytes)"),
        ("no_dtype", "documented", "wrong_dtype: None is not a dtype of numpy"),
        ("strange_dtype", "documented", "wrong_dtype: 'float33' is not a dtype of numpy"),
        ("never_more_than_three", "documented", "too_few: it returns fewer than 9 slices for any memory"),
        ("raises", "module", "exception: Traceback (most recent call last):"),
        ("leaves", "module", "exception: Traceback"),
        ("not_there", "module", "not_found: example_estimators:not_there"),
    ],
)
def test_an_invalid_answer_is_a_named_error(function, form, name):
    result = asked(function, form, slices=9)
    assert result["error"].startswith(name)
    assert result["slices"] is result["bytes"] is result["dtype"] is None
    if function == "raises":
        assert result["error"].endswith("ZeroDivisionError: of its own making")


def test_the_error_of_negative_slices_has_the_question_and_the_remedy():
    """A documented estimator is also called with little memory, to find the bytes of some slices."""
    result = asked("negative_slices", "documented", available_bytes=100)
    assert result["error"].startswith("negative: the number of slices is -2, for 100 bytes of available memory, ")
    assert "other_dimensions=(10, 20), slice_dimension=0, float32; return max(0, slices): " in result["error"]
    result = asked("negative_slices", "documented", available_bytes=None, slices=3)
    assert result["error"].startswith("negative: the number of slices is -2, for 0 bytes of available memory, ")


@pytest.mark.parametrize(
    ("function", "slices", "expected"),
    [
        ("large_int32", 3, 4 * (2**31 - 1)),
        ("large_int64", 3, 3 * (2**53 + 1)),
        ("large_longdouble", 3, 3 * (2**53 + 1)),
    ],
)
def test_numpys_numbers_are_taken_exactly(function, slices, expected):
    result = asked(function, "module", slices=slices, available_bytes=expected)
    assert (result["bytes"], result["slices"], result["error"]) == (expected, slices, None)
    assert asked(function, "module", available_bytes=expected - 1)["slices"] == slices - 1


def test_numpys_slices_are_taken_exactly():
    assert asked("numpy_slices", "documented")["slices"] == 2**53 + 1


@pytest.mark.parametrize(
    ("function", "slices", "needed"),
    [
        ("half", 20, 50),
        ("half", 21, 53),  # 52.5
        ("int8_direct", 20, 2000),
        ("float32_direct", 10, 12),  # the float is 1.10000002384…
    ],
)
def test_a_multiplier_counts_exactly_and_bytes_are_rounded_up(function, slices, needed):
    more = {"other_dimensions": [1, 1], "dtype": "uint8"}
    assert asked(function, "direct", slices=slices, **more)["bytes"] == needed
    assert asked(function, "direct", available_bytes=needed, **more)["slices"] == slices
    assert asked(function, "direct", available_bytes=needed - 1, **more)["slices"] == slices - 1


def test_slices_are_rounded_down():
    result = asked("fractional_slices", "documented", available_bytes=50, slices=18)
    assert (result["slices"], result["bytes"], result["error"]) == (18, 50, None)  # 18.06; for 49 bytes 17.7


def test_an_exception_with_a_surrogate_keeps_its_traceback():
    result = asked("raises_a_surrogate", "module")
    assert result["error"].startswith("exception: Traceback (most recent call last):")
    assert result["error"].endswith("OSError: cannot read caf\\udce9.txt")


def test_an_attribute_that_a_module_misses_as_it_is_imported_is_an_exception(tmp_path, monkeypatch):
    (tmp_path / "broken_estimators.py").write_text("import math\nmath.no_such_thing\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = answer({"function": "broken_estimators:any", "form": "module", **HTTOMO})
    assert result["error"].startswith("exception: Traceback (most recent call last):")
    assert "no_such_thing" in result["error"]


def test_bytes_beyond_64_bits_are_an_error_and_fit_nowhere():
    overflowed = asked("iterative", "iterative", slices=2**60)
    assert overflowed["error"].startswith("zero_per_slice: 1152921504606846976 slices")
    assert overflowed["warnings"][0].startswith("RuntimeWarning: overflow")
    assert asked("module", "module", slices=2**60)["error"].startswith("too_large: the memory for")


def test_random_estimators_answer_by_every_form_what_arithmetic_says():
    random = np.random.default_rng(1)
    for _ in range(200):
        dimensions = [int(n) for n in random.integers(1, 5000, 2)]
        available = int(random.integers(0, 2**40))
        expected = available // (2 * dimensions[0] * dimensions[1] * 4)
        for function, form in (("documented",) * 2, ("module",) * 2, ("iterative",) * 2, ("direct",) * 2):
            result = asked(function, form, other_dimensions=dimensions, available_bytes=available, slices=expected)
            assert (result["slices"], result["error"]) == (expected, None)
            assert result["bytes"] == 8 * dimensions[0] * dimensions[1] * expected


def test_the_server_answers_line_by_line_and_keeps_what_estimators_print_away():
    questions = [
        {"function": "example_estimators:prints", "form": "module", **HTTOMO},
        {"function": "example_estimators:raises", "form": "module", **HTTOMO},
        {"function": "example_estimators:module", "form": "module", **HTTOMO},
    ]
    served = subprocess.run(
        [sys.executable, "-m", "peakmark.estimators", "--path", str(TESTS)],
        input="".join(json.dumps(question) + "\n" for question in questions),
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    result = [json.loads(line) for line in served.stdout.splitlines()]
    assert [one["slices"] for one in result] == [9, None, 9]
    assert "said on the way" in served.stderr
    assert "and this" in served.stderr


def test_files_of_the_working_folder_are_not_taken_for_pythons_modules(tmp_path, monkeypatch):
    for name in ("json", "argparse", "random", "numpy", "peakmark"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken over')\n")
    (tmp_path / "theirs.py").write_text("def memory(dims, dtype):\n    return 7, 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])  # as of an interactive Python
    result = ask(EstimatorQuestion("theirs:memory", "module", 3, 0, (10, 20), "float32"), 100)
    assert (result.slices, result.bytes, result.error) == (14, 21, None)


def serve(tmp_path, *questions):
    """Returns the answers of a server that finds modules in a folder."""
    served = subprocess.run(
        [sys.executable, "-m", "peakmark.estimators", "--path", str(tmp_path)],
        input="".join(json.dumps(question) + "\n" for question in questions),
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in served.stdout.splitlines()]


def test_functions_are_found_without_calling_them(tmp_path):
    (tmp_path / "theirs.py").write_text("def memory(dims, dtype):\n    raise SystemExit('called')\n")
    (tmp_path / "wrong.py").write_text("def memory(:\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    answers = serve(
        tmp_path,
        {"find": ["theirs:memory"]},
        {"find": ["theirs:memory", "theirs:other"]},
        {"find": ["nowhere:memory"]},
        {"find": ["wrong:memory"]},
        {"find": ["leaves:memory"]},
    )
    assert [one["error"] for one in answers] == [
        None,
        "not_found: theirs:other: module 'theirs' has no attribute 'other'",
        "not_found: nowhere:memory: No module named 'nowhere'",
        "not_found: wrong:memory: its module cannot be imported: SyntaxError: invalid syntax (wrong.py, line 1)",
        "not_found: leaves:memory: its module cannot be imported: SystemExit: 3",
    ]


def test_missing_numpy_is_found_before_anything_is_asked(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    error = check_found(["example_estimators:module"])["error"]
    assert error.startswith("not_found: numpy, which estimators need for their dtype argument, is missing in ")
    assert "install it there" in error


def test_a_process_that_an_estimator_forks_does_not_answer_a_second_time(tmp_path):
    (tmp_path / "forks.py").write_text("import os\ndef memory(dims, dtype):\n    os.fork()\n    return 10 * dims[0], 0\n")
    question = {"function": "forks:memory", "form": "module", **HTTOMO, "slices": 1}
    answers = serve(tmp_path, *({**question, "other_dimensions": [n, 1]} for n in (10, 20, 30)))
    assert [one["bytes"] for one in answers] == [100, 200, 300]


LEAVES_A_PROCESS = """
import os
def memory(dims, dtype):
    if os.fork() == 0:
        os.setsid()
        os.read(os.open("fifo", os.O_RDONLY), 1)  # until the test opens and closes it
        os._exit(0)
    return 10 * dims[0], 0
"""


def test_a_process_that_an_estimator_leaves_behind_does_not_hold_the_answer(tmp_path, monkeypatch):
    (tmp_path / "leaves.py").write_text(LEAVES_A_PROCESS)
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    result = ask(EstimatorQuestion("leaves:memory", "module", 3, 0, (2, 20), "float32", seconds=30), 100)
    os.close(os.open("fifo", os.O_RDWR))
    assert (result.bytes, result.error) == (60, None)


def test_an_estimator_that_hangs_is_ended_by_its_limit():
    result = ask(EstimatorQuestion("example_estimators:module", "module", 3, 0, (2, 20), "float32", seconds=0.001), 100)
    assert result.error == (
        "no_answer_in_time: estimator 'example_estimators:module' did not answer within 0.001 s; make it faster, or raise the "
        "limit with seconds="
    )


def asked_httomo(method, **more):
    return answer({"function": f"httomo_supporting_funcs:{method}", "form": "httomo", **HTTOMO, **more})


@pytest.mark.parametrize("slice_dimension", [0, 1])
def test_httomos_functions_are_found_by_the_name_of_the_method(slice_dimension):
    of_slices = asked_httomo("remove_stripe_ti", slice_dimension=slice_dimension, slices=9, available_bytes=9 * 1600 + 160)
    assert (of_slices["slices"], of_slices["bytes"], of_slices["error"]) == (9, 9 * 1600 + 160, None)


@pytest.mark.parametrize("slice_dimension", [0, 1])
def test_httomos_iterative_functions_get_the_slices_first_also_along_dimension_1(slice_dimension):
    # httomo/method_wrappers/generic.py passes (slices, d0, d1) for every pattern.
    result = asked_httomo("paganin_filter", slice_dimension=slice_dimension, slices=3, available_bytes=4 * (5 * 10 * 20 + 7))
    assert (result["slices"], result["bytes"], result["error"]) == (5, 4 * (3 * 10 * 20 + 7), None)


def test_an_exception_of_httomos_iterative_function_is_more_memory_than_there_is():
    assert asked_httomo("cufft_of_few", slices=3, available_bytes=10**9)["slices"] == 40
    assert asked_httomo("cufft_of_few", slices=41)["error"].endswith("RuntimeError: CUFFT_INVALID_SIZE")


def test_the_prefix_chooses_a_function_of_a_method_that_has_both():
    assert asked_httomo("both", slices=1)["bytes"] == 11
    assert asked_httomo("_calc_memory_bytes_both", slices=1)["bytes"] == 22
    assert asked_httomo("_calc_memory_bytes_for_slices_both", slices=1)["bytes"] == 11


def test_methods_of_a_module_are_listed():
    methods = ["both", "cufft_of_few", "paganin_filter", "remove_stripe_ti"]
    assert list_methods("httomo_supporting_funcs") == {"methods": methods, "error": None}
    assert list_methods("example_estimators")["error"] == (
        "not_found: example_estimators has no function _calc_memory_bytes_NAME or _calc_memory_bytes_for_slices_NAME"
    )
    assert list_methods("no_such_module")["error"].startswith("not_found: no_such_module")
    error = check_found(["httomo_supporting_funcs:remove_stripe"], "httomo")["error"]
    assert error == (
        "not_found: httomo_supporting_funcs has neither _calc_memory_bytes_for_slices_remove_stripe nor "
        f"_calc_memory_bytes_remove_stripe; methods in it: {', '.join(methods)}"
    )
    assert check_found(["httomo_supporting_funcs:both"], "httomo")["error"] is None


def asked_nabu(function, **more):
    return answer({"function": f"nabu_functions:{function}", "form": "nabu", **HTTOMO, **more})


def test_nabus_functions_read_the_configuration_that_a_function_makes():
    result = asked_nabu("process_config", slices=7, available_bytes=10 * 10 * 20 * 4 + 399, parameters={"flats": 1})
    assert (result["slices"], result["bytes"], result["error"]) == (5, 8 * 10 * 20 * 4, None)


def test_a_module_without_nabus_functions_says_where_they_are():
    error = answer({"function": "example_estimators:output_dims", "form": "nabu", **HTTOMO})["error"]
    assert error == (
        "not_found: example_estimators has no estimate_required_memory and no estimate_max_chunk_size; import them there from "
        "nabu.pipeline.fullfield.computations"
    )


def test_a_function_that_names_a_parameter_variant_gets_it():
    assert asked("of_variant", "module", slices=1, variant="fbp/whole")["bytes"] == 9
    assert asked("of_variant", "module", slices=1, variant="fbp/whole", parameters={"variant": "its own"})["bytes"] == 7
    assert asked("module", "module", slices=1, variant="fbp/whole")["bytes"] == 1600


def test_warnings_are_part_of_the_answer(monkeypatch):
    def warns(other_dims, dtype):
        for _ in range(2):
            warnings.warn("for n up to 10", stacklevel=1)
        warnings.warn("internal", DeprecationWarning, stacklevel=1)
        raise ValueError("too large") if other_dims[0] == 7 else RuntimeWarning

    monkeypatch.setattr(example_estimators, "warns", warns, raising=False)
    result = asked("warns", "module", slices=1, other_dimensions=[7, 1])
    assert result["warnings"] == ["UserWarning: for n up to 10"]
    assert result["error"].endswith("ValueError: too large")
    assert asked("direct", "direct", slices=1)["warnings"] == []
