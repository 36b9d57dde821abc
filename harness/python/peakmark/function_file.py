"""Functions that other processes call, under peakmark: for `peakmark.fit` and `peakmark.run`."""

from __future__ import annotations

import inspect
import multiprocessing
import multiprocessing.spawn
import os
import pathlib
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_TRIAL = pathlib.Path(__file__).resolve().parent / "function_trial.py"
#: What a trial needs to import the functions of the main module, as processes of multiprocessing do.
_MAIN_MODULE = ("sys_path", "sys_argv", "dir", "init_main_from_name", "init_main_from_path")


class FunctionError(ValueError):
    """The function lacks an argument, or other processes cannot call it."""


class FunctionFile:
    """A function with arguments that the words of a command have.

    `values` has the value of each word of an argument; those of other arguments are integers. `is_call`: the trial marks the call
    of the function as the phase `call`. Raises FunctionError.
    """

    def __init__(
        self, function: Callable[..., object], names: Sequence[str], values: Mapping[str, Mapping[str, Any]] | None = None,
        is_call: bool = False,
    ) -> None:
        if getattr(multiprocessing.process.current_process(), "_inheriting", False):
            raise FunctionError("called while a trial imports the function; call it below `if __name__ == '__main__':`")
        _check_arguments(function, names)
        self._names = names
        self._content = pickle.dumps((*_pickled(function), pickle.dumps((values or {}, is_call))))

    def write(self, folder: pathlib.Path) -> list[str]:
        """Writes the file into the folder, and returns the command that calls the function with `{NAME}` for each argument."""
        file = folder / "function"
        file.write_bytes(self._content)
        return [sys.executable, str(_TRIAL), str(file), *(f"{name}={{{name}}}" for name in self._names)]


def _check_arguments(function: Callable[..., object], names: Sequence[str]) -> None:
    if not callable(function):
        raise FunctionError(f"not a function: {function!r}")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return  # a builtin: its call shows
    named = [one.name for one in parameters if one.kind not in (one.POSITIONAL_ONLY, one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    for name in names:
        if name not in named and not any(one.kind is one.VAR_KEYWORD for one in parameters):
            raise FunctionError(
                f"{function!r} has no argument '{name}'; it has {', '.join(one.name for one in parameters) or 'none'}"
            )


def _pickled(function: Callable[..., object]) -> tuple[dict[str, Any], bytes]:
    """Returns the path of the main module, and the pickled function."""
    prepared = multiprocessing.spawn.get_preparation_data("peakmark.fit")
    main = {key: prepared[key] for key in _MAIN_MODULE if key in prepared}
    without_main = {key: value for key, value in main.items() if not key.startswith("init_main")}
    try:
        # pickle stores the name of a function and of its module, which a trial imports.
        pickled = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return without_main, _by_value(function)
    if b"__main__" not in pickled:
        return without_main, pickled
    if "init_main_from_name" in main or os.path.isfile(main.get("init_main_from_path", "")):
        return main, pickled
    return without_main, _by_value(function)  # of a notebook, or of a program on standard input


def _by_value(function: Callable[..., object]) -> bytes:
    try:
        import cloudpickle  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ModuleNotFoundError:
        raise FunctionError(
            f"{function!r} cannot be imported by another process: write it into a module, or run `pip install cloudpickle`"
        ) from None
    return bytes(cloudpickle.dumps(function))
