"""Checks that a type of the harness does not have the name of a type of the public C++ API.

A source file that includes both would find the name ambiguous, and a reader would not know which one is meant.
"""

import re
from pathlib import Path

HARNESS = Path(__file__).resolve().parents[2] / "harness"
PUBLIC = HARNESS / "api/include"
#: Aliases of the same type on both sides, which are not ambiguous.
SAME = {"AxisValue", "Size"}


def types(paths: list[Path]) -> dict[str, Path]:
    """Returns the types that the headers define in namespace peakmark, each with its header."""
    found = {}
    for path in paths:
        text = re.sub(r"^namespace (?!peakmark )[\w:]+ \{.*?^\}  // namespace", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for name in re.findall(r"^(?:class|struct|enum class|using) (\w+)(?: final)?(?: :| =|$| \{)", text, re.MULTILINE):
            found[name] = path
    return found


def test_no_type_of_the_harness_has_the_name_of_a_public_type() -> None:
    headers = set(HARNESS.rglob("*.hpp"))
    public = types([path for path in headers if path.is_relative_to(PUBLIC)])
    own = types([path for path in headers if not path.is_relative_to(PUBLIC)])
    assert {"Device", "Case", "Variant", "OutOfMemory", *SAME} <= public.keys()
    assert {name: str(own[name].relative_to(HARNESS)) for name in public.keys() & own.keys() - SAME} == {}


def test_a_type_in_a_namespace_of_its_own_is_not_ambiguous(tmp_path: Path) -> None:
    header = tmp_path / "device.hpp"
    header.write_text("namespace peakmark {\nnamespace backend {\nclass Device {\n};\n}  // namespace backend\nclass Array {\n};\nusing Case = int;\n}\n")
    assert types([header]).keys() == {"Array", "Case"}
