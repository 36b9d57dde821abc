"""Values of the formulas that `peakmark explain --json` prints."""


def next_smooth(length: int, largest_prime: int) -> int:
    """Returns the least integer >= length without a prime factor above largest_prime."""
    while True:
        rest = length
        for prime in (2, 3, 5, 7, 11, 13):
            while prime <= largest_prime and rest % prime == 0:
                rest //= prime
        if rest == 1:
            return length
        length += 1


FUNCTIONS = {
    "next_smooth": next_smooth,
    "next_pow2": lambda a: 1 << max(a - 1, 0).bit_length(),
    "ceil_div": lambda a, b: -(-a // b),
    "if_zero": lambda a, b, c: b if a == 0 else c,
    "min": min,
    "max": max,
}


def unexplained_names(variant: dict) -> list[str]:
    """Returns the allocations of an entry of `variants` that have no formula: their names, else their call sites."""
    return [one["name"] or one["where"] for one in variant["allocations"] if one["bytes"] is None]


def peak_function(variant: dict):
    """Returns a function of the axes, a dictionary, for the peak of an entry of `variants`, less what has no formula."""
    formula = variant["peak"] or variant["partial_peak"]
    if formula is None:
        raise ValueError(f"{variant['variant']} {variant['words']}: the peak has no formula; see `peakmark explain`")
    for name in unexplained_names(variant):
        formula = formula.replace(name, "0")  # a call site is no name in Python
    code = compile(formula.replace("/", "//"), variant["variant"], "eval")
    return lambda axes: eval(code, FUNCTIONS | axes)
