"""A trial of `peakmark.fit`: calls a function that was written to a file. `python fit_trial.py FILE ARGUMENT VALUE`"""

import sys


def main(file: str, argument: str, value: str) -> None:
    import multiprocessing.spawn
    import pickle

    with open(file, "rb") as opened:
        main_module, function = pickle.load(opened)
    # The main module is imported as processes of multiprocessing import it, so that its `if __name__ == "__main__":` is False.
    process = multiprocessing.process.current_process()
    process._inheriting = True  # type: ignore[attr-defined]
    try:
        multiprocessing.spawn.prepare(main_module)
    finally:
        del process._inheriting  # type: ignore[attr-defined]
    pickle.loads(function)(**{argument: int(value)})


if __name__ == "__main__":
    # Python adds the folder of this file, but its modules must be imported only as peakmark.NAME.
    sys.path.pop(0)
    main(*sys.argv[1:])
