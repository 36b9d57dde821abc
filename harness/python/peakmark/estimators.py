"""Calls Python functions that estimate device memory, for peakmark: `python -m peakmark.estimators`.

Reads questions from standard input, one JSON object per line, and writes one line per answer to standard output
(docs/formats.md of peakmark):

    {"function": "package.module:function", "form": "module", "slice_dimension": 0, "other_dimensions": [10, 20],
     "dtype": "float32", "parameters": {"radius": 2}, "available_bytes": 14450, "slices": 4}
    {"slices": 9, "bytes": 6400, "dtype": null, "terms": null, "output_dimensions": null, "padding": null, "error": null,
     "warnings": []}

Calls functions like httomo, with numpy's dtype:

    documented  f(slice_dimension, other_dimensions, dtype, available_bytes, **parameters) -> (slices, output dtype)
    direct      a number, or f(**parameters) -> multiplier of the bytes of a slice of the input
    module      f(other_dimensions, dtype, **parameters) -> (bytes per slice, fixed bytes)
    iterative   f(dimensions, dtype, **parameters) -> bytes; dimensions includes the slices
    httomo      the functions of a method NAME, by `module:NAME`, as httomo 3 calls them:
                _calc_memory_bytes_for_slices_NAME((slices, *other_dimensions), dtype, **parameters) -> bytes, or
                _calc_memory_bytes_NAME(other_dimensions, dtype, **parameters) -> (bytes per slice, fixed bytes)
    nabu        f(other_dimensions, **parameters) -> nabu's process_config; the module also has nabu's
                estimate_required_memory(process_config, delta_z=slices) -> bytes, and
                estimate_max_chunk_size(available GB, process_config) -> slices

`module`, `iterative` and `httomo` may name their terms, like the allocations that they describe. The bytes are then their sum:

    module      {name: (bytes per slice, fixed bytes)} or [(name, bytes per slice, fixed bytes)]
    iterative   {name: bytes} or [(name, bytes)]

If a function fails, `error` has the name of the error and the reason, and the numbers are null. The question
{"find": ["package.module:function"], "form": "module"} imports functions without calling them; its answer is {"error": null} or
the reason. The question {"methods": "package.module"} has the answer {"methods": [names], "error": null}: httomo's methods.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import json
import math
import numbers
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from peakmark.sizes import quantity

#: Sizes are signed 64-bit integers.
MAX_BYTES = 2**63 - 1


class EstimatorError(Exception):
    """An answer is invalid. `name` is the name of the error."""

    def __init__(self, name: str, message: str):
        super().__init__(f"{name}: {message}")
        self.name = name


def exact(value: Any, of: str) -> int | Fraction:
    """Converts a number of an estimator, which must be at least 0, to a Python number. numpy's integers would overflow or become floats."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise EstimatorError("wrong_type", f"{of} is {value!r}, a {type(value).__name__}; it must be a number")
    try:
        if isinstance(value, numbers.Integral):
            number: int | Fraction = int(value)
        elif isinstance(value, numbers.Rational):
            number = Fraction(value)
        else:
            number = Fraction(*value.as_integer_ratio())  # type: ignore[attr-defined]
    except ValueError:
        raise EstimatorError("not_a_number", f"{of} is NaN") from None
    except OverflowError:
        raise EstimatorError("infinite", f"{of} is {value}") from None
    except AttributeError:
        raise EstimatorError("wrong_type", f"{of} is {value!r}, a {type(value).__name__} without a ratio") from None
    if number < 0:
        raise EstimatorError("negative", f"{of} is {value}")
    return number


def whole(value: Any, of: str, rounded: Callable[[int | Fraction], int] = math.ceil) -> int:
    """Converts a number to an int. Rounds up, as for bytes; pass math.floor for slices."""
    number = rounded(exact(value, of))
    if number > MAX_BYTES:
        raise EstimatorError("too_large", f"{of} is {value}, more than 2^63")
    return number


def pair(value: Any, of: str) -> tuple[Any, Any]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise EstimatorError("wrong_type", f"it returned {value!r}; it must return {of}")
    return value[0], value[1]


def import_numpy() -> Any:
    try:
        import numpy
    except ImportError as error:
        raise EstimatorError(
            "not_found",
            f"numpy, which estimators need for their dtype argument, is missing in {sys.executable}: {error}; install it there, "
            "or name another Python with `python`",
        ) from error
    return numpy


class Question:
    """A question, with the types of the functions' arguments."""

    def __init__(self, asked: dict[str, Any]):
        numpy = import_numpy()
        self.form: str = asked["form"]
        self.slice_dimension: int = asked["slice_dimension"]
        self.other_dimensions: tuple[int, ...] = tuple(asked["other_dimensions"])
        self.dtype = numpy.dtype(asked["dtype"])
        self.parameters: dict[str, Any] = asked.get("parameters") or {}
        self.variant: str | None = asked.get("variant")
        self.available_bytes: int | None = asked.get("available_bytes")
        self.slices: int | None = asked.get("slices")

    def slice_bytes(self) -> int:
        return math.prod(self.other_dimensions) * int(self.dtype.itemsize)


class Term(NamedTuple):
    """A named part of an estimate, which describes an allocation."""

    name: str
    per_slice: int
    fixed: int


def named_terms(answer: Any, numbers: int) -> list[tuple[str, tuple[Any, ...]]] | None:
    """Returns the names and numbers of an answer with named terms; None for any other answer. A name may occur twice."""
    if isinstance(answer, Mapping):
        found = list(answer.items())
        if numbers > 1:
            found = [(name, pair(value, "(bytes per slice, fixed bytes) for each name")) for name, value in found]
        else:
            found = [(name, (value,)) for name, value in found]
    elif (
        isinstance(answer, (tuple, list))
        and answer
        and all(isinstance(one, (tuple, list)) and len(one) == 1 + numbers and isinstance(one[0], str) for one in answer)
    ):
        found = [(one[0], tuple(one[1:])) for one in answer]
    else:
        return None
    for name, _ in found:
        if not isinstance(name, str):
            raise EstimatorError("wrong_type", f"the name of a term is {name!r}; it must be a string")
    return found


def takes(function: Any, name: str) -> bool:
    """Returns whether a function has a parameter of this name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # a number; a function of C
        return False


class Form:
    """Converts between slices and bytes with an estimator."""

    def __init__(self, function: Any, question: Question):
        self.function = function
        self.question = question
        self.parameters = question.parameters
        if question.variant is not None and takes(function, "variant"):
            self.parameters = {"variant": question.variant, **self.parameters}

    def slices(self, available: int) -> tuple[int, str | None]:
        """Returns the number of slices that fit and, if the form has it, the dtype of the output."""
        raise NotImplementedError

    def bytes(self, slices: int) -> int:
        raise NotImplementedError

    def named(self, slices: int) -> list[Term] | None:
        """Returns the named terms of the bytes of some slices; None if the estimator does not name any."""
        return None


class Linear(Form):
    """Bytes for each slice plus fixed bytes."""

    def terms(self) -> tuple[int | Fraction, int]:
        raise NotImplementedError

    def checked_terms(self) -> tuple[int | Fraction, int]:
        per_slice, fixed = self.terms()
        if per_slice == 0:
            raise EstimatorError("zero_per_slice", "a slice needs 0 bytes, so any number of slices would fit")
        return per_slice, fixed

    def slices(self, available: int) -> tuple[int, str | None]:
        per_slice, fixed = self.checked_terms()
        return whole(max(0, available - fixed) / Fraction(per_slice), "the number of slices", math.floor), None

    def bytes(self, slices: int) -> int:
        per_slice, fixed = self.checked_terms()
        return whole(math.ceil(per_slice * slices + fixed), f"the memory for {quantity(slices, 'slice')}")


class Direct(Linear):
    def terms(self) -> tuple[int | Fraction, int]:
        multiplier = self.function(**self.parameters) if callable(self.function) else self.function
        return exact(multiplier, "the multiplier") * self.question.slice_bytes(), 0


class Module(Linear):
    def ask(self) -> tuple[list[Term] | None, Any]:
        """Returns the named terms, and the answer."""
        answer = self.function(self.question.other_dimensions, self.question.dtype, **self.parameters)
        found = named_terms(answer, 2)
        if found is None:
            return None, answer
        return [Term(name, whole(one, f"a slice of {name}"), whole(other, f"the fixed part of {name}")) for name, (one, other) in found], answer

    def terms(self) -> tuple[int, int]:
        terms, answer = self.ask()
        if terms is not None:
            return sum(term.per_slice for term in terms), sum(term.fixed for term in terms)
        per_slice, fixed = pair(answer, "(bytes per slice, fixed bytes)")
        return whole(per_slice, "a slice"), whole(fixed, "the fixed part")

    def named(self, slices: int) -> list[Term] | None:
        return self.ask()[0]


class Iterative(Form):
    def dimensions(self, slices: int) -> tuple[int, ...]:
        """Returns the dimensions of an input of `slices` slices."""
        dimensions = list(self.question.other_dimensions)
        dimensions.insert(self.question.slice_dimension, slices)
        return tuple(dimensions)

    def ask(self, slices: int) -> tuple[list[Term] | None, Any]:
        answer = self.function(self.dimensions(slices), self.question.dtype, **self.parameters)
        found = named_terms(answer, 1)
        if found is None:
            return None, answer
        return [Term(name, 0, whole(size, f"the memory for {name}")) for name, (size,) in found], answer

    def named(self, slices: int) -> list[Term] | None:
        return self.ask(slices)[0]

    def bytes(self, slices: int) -> int:
        terms, answer = self.ask(slices)
        if terms is not None:
            answer = sum(term.fixed for term in terms)
        needed = whole(answer, f"the memory for {quantity(slices, 'slice')}")
        if needed == 0:  # also numpy's integers after an overflow
            raise EstimatorError("zero_per_slice", f"{quantity(slices, 'slice needs', 'slices need')} 0 bytes, so any number of them would fit")
        return needed

    def fits(self, slices: int, available: int) -> bool:
        return self.bytes(slices) <= available

    def slices(self, available: int) -> tuple[int, str | None]:
        return largest(lambda slices: self.fits(slices, available)), None


#: httomo's names of the functions of a method, followed by the name of the method.
FOR_SLICES, PER_SLICE = "_calc_memory_bytes_for_slices_", "_calc_memory_bytes_"


class ForSlices(Iterative):
    """httomo's method of the kind `iterative`."""

    def dimensions(self, slices: int) -> tuple[int, ...]:
        return (slices, *self.question.other_dimensions)  # also if slices are cut along another dimension

    def fits(self, slices: int, available: int) -> bool:
        try:
            return super().fits(slices, available)
        except EstimatorError as error:
            if error.name not in ("too_large", "infinite"):
                raise
        except Exception:  # noqa: BLE001 - for httomo, any exception means more memory than available
            pass
        return False


class Nabu(Form):
    """nabu's two functions. `function` returns the process configuration that they read."""

    def __init__(self, function: Any, question: Question):
        super().__init__(function, question)
        module = importlib.import_module(function.__module__)
        self.nabu: dict[str, Any] = {name: getattr(module, name, None) for name in ("estimate_required_memory", "estimate_max_chunk_size")}
        if missing := [name for name, found in self.nabu.items() if found is None]:
            raise EstimatorError(
                "not_found",
                f"{function.__module__} has no {' and no '.join(missing)}; import them there from nabu.pipeline.fullfield.computations",
            )

    def configuration(self) -> Any:
        return self.function(self.question.other_dimensions, **self.parameters)

    def bytes(self, slices: int) -> int:
        needed = self.nabu["estimate_required_memory"](self.configuration(), delta_z=slices)
        return whole(needed, f"the memory for {quantity(slices, 'slice')}")

    def slices(self, available: int) -> tuple[int, str | None]:
        found = self.nabu["estimate_max_chunk_size"](available / 1e9, self.configuration())
        return whole(found, "the number of slices", math.floor), None


class Documented(Form):
    def slices(self, available: int) -> tuple[int, str | None]:
        question = self.question
        answer = self.function(
            question.slice_dimension, question.other_dimensions, question.dtype, available, **self.parameters
        )
        slices, dtype = pair(answer, "(slices, output dtype)")
        try:
            return whole(slices, "the number of slices", math.floor), dtype_name(dtype)
        except EstimatorError as error:
            if error.name != "negative":
                raise
            raise EstimatorError(
                "negative",
                f"the number of slices is {slices}, for {available} bytes of available memory, "
                f"other_dimensions={question.other_dimensions}, slice_dimension={question.slice_dimension}, "
                f"{question.dtype.name}; return max(0, slices): 0 says that not even one slice fits",
            ) from None

    def bytes(self, slices: int) -> int:
        """Returns the smallest available memory for which the estimator returns `slices` slices."""

        def too_little(available: int) -> bool:
            return self.slices(available)[0] < slices

        if slices == 0 or not too_little(0):
            return 0
        try:
            return largest(too_little) + 1
        except EstimatorError as error:
            if error.name != "zero_per_slice":
                raise
            raise EstimatorError("too_few", f"it returns fewer than {quantity(slices, 'slice')} for any memory") from None


def largest(holds: Callable[[int], bool]) -> int:
    """Returns the largest n for which a monotonic condition holds, by doubling and bisection."""
    if not holds(1):
        return 0
    yes = 1
    while holds(2 * yes):
        yes *= 2
        if yes > MAX_BYTES // 4:
            raise EstimatorError("zero_per_slice", "any number of slices would fit")
    no = 2 * yes
    while no - yes > 1:
        middle = (yes + no) // 2
        if holds(middle):
            yes = middle
        else:
            no = middle
    return yes


def dtype_name(dtype: Any) -> str:
    import numpy

    try:
        if dtype is None:  # numpy converts it to float64
            raise TypeError
        return str(numpy.dtype(dtype).name)
    except TypeError:
        raise EstimatorError("wrong_dtype", f"{dtype!r} is not a dtype of numpy") from None


_FORMS: dict[str, type[Form]] = {
    "documented": Documented,
    "direct": Direct,
    "module": Module,
    "iterative": Iterative,
    "nabu": Nabu,
}
#: Those of suites/suite.schema.json. The first is the default.
FORMS = (*_FORMS, "httomo")


def import_module(path: str) -> Any:
    """Imports the module of `package.module:function`."""
    try:
        return importlib.import_module(path.partition(":")[0])
    except ImportError as error:
        # Other exceptions of the module are not caught: answer() reports them with a traceback.
        raise EstimatorError("not_found", f"{path}: {error}") from error


def httomo_methods(path: str) -> list[str]:
    """Returns the methods of a module of httomo-backends whose memory it estimates."""
    names = (name for name in vars(import_module(path)) if name.startswith(PER_SLICE))
    return sorted({name.removeprefix(FOR_SLICES).removeprefix(PER_SLICE) for name in names})


def find_form(path: str, form: str) -> tuple[Any, type[Form]]:
    """Returns the function at a path, and how it is called. For `httomo`, the path has the name of a method or of a function."""
    if form != "httomo":
        return find(path), _FORMS[form]
    module, _, name = path.partition(":")
    for prefix, called in ((FOR_SLICES, ForSlices), (PER_SLICE, Module)):
        wanted = name if name.startswith(PER_SLICE) else prefix + name
        if wanted.startswith(prefix) and (function := getattr(import_module(path), wanted, None)) is not None:
            return function, called
    raise EstimatorError(
        "not_found",
        f"{module} has neither {FOR_SLICES}{name} nor {PER_SLICE}{name}; methods in it: {', '.join(httomo_methods(path)) or 'none'}",
    )


def find(path: str) -> Any:
    """Returns the object at `package.module:function`, `package.module:Class.function` or `package.module`."""
    name = path.partition(":")[2]
    found = import_module(path)
    try:
        for part in name.split(".") if name else ():
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise EstimatorError("not_found", f"{path}: {error}") from error
    return found


def whole_list(values: Any, of: str) -> list[int]:
    if not isinstance(values, (tuple, list)):
        raise EstimatorError("wrong_type", f"{of} are {values!r}; they must be a tuple")
    return [whole(value, f"one of {of}") for value in values]


def printable(text: str) -> str:
    """Returns the text with surrogates, which JSON does not allow, as `\\udc80`."""
    return text.encode("utf-8", "backslashreplace").decode()


def check_found(paths: list[str], form: str = "module") -> dict[str, Any]:
    """Imports an estimator and the functions next to it, without calling them. `error` is what the user must fix before they
    can be called."""
    try:
        import_numpy()
        for at, path in enumerate(paths):
            try:
                if at == 0:
                    find_form(path, form)
                else:
                    find(path)
            except (EstimatorError, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001 - a module may call sys.exit()
                raise EstimatorError("not_found", f"{path}: its module cannot be imported: {type(error).__name__}: {error}") from error
    except EstimatorError as error:
        return {"error": printable(str(error))}
    return {"error": None}


def list_methods(module: str) -> dict[str, Any]:
    """Lists httomo's methods of a module."""
    error = check_found([module])["error"]
    methods = [] if error else httomo_methods(module)
    if not error and not methods:
        error = f"not_found: {module} has no function {PER_SLICE}NAME or {FOR_SLICES}NAME"
    return {"methods": methods, "error": error}


@contextlib.contextmanager
def recorded_warnings() -> Iterator[list[str]]:
    """Collects the texts of `warnings.warn`, each once. As in Python, warnings for developers of a library are omitted."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        try:
            yield texts
        finally:
            found = (printable(f"{one.category.__name__}: {one.message}") for one in caught)
            texts += dict.fromkeys(found)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """Answers a question. Reports failures in `error` instead of raising, and the warnings of the estimator in `warnings`."""
    with recorded_warnings() as texts:
        result = answer_or_error(asked)
    return result | {"warnings": texts}


def answer_or_error(asked: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = dict.fromkeys(("slices", "bytes", "dtype", "terms", "output_dimensions", "padding", "error"))
    try:
        question = Question(asked)
        function, called = find_form(asked["function"], question.form)
        form = called(function, question)
        if question.available_bytes is not None:
            result["slices"], result["dtype"] = form.slices(question.available_bytes)
        if question.slices is not None:
            result["bytes"] = form.bytes(question.slices)
            if (terms := form.named(question.slices)) is not None:
                result["terms"] = [
                    {"name": printable(one.name), "per_slice_bytes": one.per_slice, "fixed_bytes": one.fixed} for one in terms
                ]
        if path := asked.get("output_dimensions"):
            result["output_dimensions"] = whole_list(
                find(path)(question.other_dimensions, **question.parameters), "the output dimensions"
            )
        if path := asked.get("padding"):
            result["padding"] = whole_list(
                list(pair(find(path)(**question.parameters), "(slices before, slices after)")),
                "the slices before and after",
            )
    except EstimatorError as error:
        result["error"] = printable(str(error))
    except BaseException as error:  # noqa: BLE001 - an estimator may call sys.exit()
        if isinstance(error, KeyboardInterrupt):
            raise
        result["error"] = printable("exception: " + traceback.format_exc().strip())
    if result["error"] is not None:
        result.update(slices=None, bytes=None, dtype=None, terms=None)
    return result


def add_folders(folders: list[str]) -> None:
    """Adds folders to the import path after Python's standard library and before installed packages.

    So a json.py of the user does not replace a module that numpy imports.
    """
    try:
        import numpy  # noqa: F401 - before a numpy.py of the user can be found
    except ImportError:
        pass  # reported with the first question
    installed = (at for at, path in enumerate(sys.path) if path.endswith(("site-packages", "dist-packages")))
    at = next(installed, len(sys.path))
    sys.path[at:at] = [folder for folder in folders if folder and folder not in sys.path]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m peakmark.estimators", description=__doc__.splitlines()[0])
    parser.add_argument("--path", action="append", default=[], help="a folder with modules")
    add_folders(parser.parse_args().path)
    # Redirects the output of estimators to standard error, so that standard output has only answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    server = os.getpid()
    for line in sys.stdin:
        if not line.strip():
            continue
        asked = json.loads(line)
        if "find" in asked:
            answered = check_found(asked["find"], asked.get("form", "module"))
        elif "methods" in asked:
            answered = list_methods(asked["methods"])
        else:
            answered = answer(asked)
        if os.getpid() != server:  # an estimator has forked a process that also returned here; it must not answer
            os._exit(0)
        print(json.dumps(answered), file=answers, flush=True)


if __name__ == "__main__":
    main()
