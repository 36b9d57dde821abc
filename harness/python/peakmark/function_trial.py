"""Calls a function that was written to a file, for `peakmark.fit` and `peakmark.run`. `python function_trial.py FILE NAME=WORD…`"""

import sys


def main(file: str, *words: str) -> None:
    import multiprocessing.spawn
    import pickle

    with open(file, "rb") as opened:
        main_module, function_bytes, more = pickle.load(opened)
    # The main module is imported as processes of multiprocessing import it, so that its `if __name__ == "__main__":` is False.
    process = multiprocessing.process.current_process()
    process._inheriting = True  # type: ignore[attr-defined]
    try:
        multiprocessing.spawn.prepare(main_module)
    finally:
        del process._inheriting  # type: ignore[attr-defined]
    function = pickle.loads(function_bytes)
    values, is_call = pickle.loads(more)
    arguments = {}
    for name, _, word in (one.partition("=") for one in words):
        arguments[name] = values[name][word] if name in values else _number(word)
    if is_call:
        from peakmark.marks import repeat_call

        repeat_call(function, **arguments)
    else:
        function(**arguments)


def _number(word: str) -> float:
    return int(word) if word.lstrip("-").isdigit() else float(word)


if __name__ == "__main__":
    # Python adds the folder of this file, but its modules must be imported only as peakmark.NAME.
    sys.path.pop(0)
    main(*sys.argv[1:])
