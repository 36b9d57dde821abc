import pytest

from peakmark.sizes import SizeError, exact_size, format_size, parse_size, quantity


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096), ("24 MB", 24_000_000), ("16GiB", 2**34), ("1.5 GiB", 3 * 2**29), ("0.1 GB", 100_000_000),
        ("0 B", 0), ("1 kB", 1000), ("1 KB", 1000), ("1KiB", 1024), (0, 0), (7, 7), ("9223372036854775807", 2**63 - 1),
    ],
)  # fmt: skip
def test_sizes_are_parsed_like_by_commands(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("", "write bytes"), ("many", "write bytes"), ("-1", "write bytes"), ("1. MB", "write bytes"),
        (" 1", "write bytes"), ("24 bananas", "unknown unit 'bananas'"), ("24 mb", "unknown unit 'mb'"),
        ("0.5 B", "not a whole number of bytes"), ("9223372036854775808", "64 bits"), ("9999999 TiB", "64 bits"),
        (-1, "from 0"), (2**63, "from 0"), (1.5, "a float"), (None, "a NoneType"), (True, "a bool"),
    ],
)  # fmt: skip
def test_an_invalid_size_is_an_error_with_how_to_write_one(given, why):
    with pytest.raises(SizeError, match="is not a size") as error:
        parse_size(given)
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**34, "16 GiB"), (1048535, "1 MiB"), (-2048, "-2 KiB")],
)
def test_sizes_are_formatted_like_by_commands(size, text):
    assert format_size(size) == text


def test_the_exact_size_has_its_bytes():
    assert (exact_size(5), exact_size(1536)) == ("5 B", "1.5 KiB (1536 B)")


def test_a_quantity_of_one_is_singular():
    assert [quantity(count, "slice") for count in (0, 1, 2)] == ["0 slices", "1 slice", "2 slices"]
    assert quantity(1, "event is", "events are") == "1 event is"
