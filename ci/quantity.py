"""Numbers with their nouns, for what ci/ prints."""


def quantity(count: int, one: str, many: str = "") -> str:
    """`1 case`, `2 cases`. `many` where the plural is not `one` with an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"
