"""Numbers with their nouns."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from quantity import quantity  # noqa: E402


def test_one_is_singular():
    assert [quantity(count, "case") for count in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]
    assert [quantity(count, "try", "tries") for count in (1, 2)] == ["1 try", "2 tries"]
