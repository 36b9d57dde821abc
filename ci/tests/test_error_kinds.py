"""Checks that only one place knows exit codes of errors, and that a failed system call is not reported as wrong usage."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("harness", "kernels", "bench", "examples")
ENDINGS = {".cpp", ".hpp", ".cu", ".cuh", ".h", ".inc"}
#: The map of errors to exit codes.
MAP = ROOT / "harness/base/error.cpp"


def without_comments(text: str) -> str:
    """Replaces comments by blanks, so that positions do not change."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)


def block_end(text: str, start: int) -> int:
    """Returns the position of the brace that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text)


def findings(source: str) -> list[str]:
    """Returns `LINE: what is wrong` of a source file."""
    text = without_comments(source)

    def at(place: int, what: str) -> str:
        return f"{text.count(chr(10), 0, place) + 1}: {what}"

    wrong = []
    for thrown in re.finditer(r"\bthrow\b[^;]*;", text):
        if "ExitCode" in thrown[0]:
            wrong.append(at(thrown.start(), "an error is thrown with an exit code; its class says what it is"))
        if re.match(r"throw (\w+::)*UsageError\b", thrown[0]) and re.search(r"strerror|\berrno\b", thrown[0]):
            wrong.append(at(thrown.start(), "a failed call of the system is an IoError: io_error()"))
    for caught in re.finditer(r"\bcatch \(([^)]*)\) \{", text):
        # CLI11 prints its errors itself, and all of them are wrong usage.
        if "CLI::" not in caught[1] and "ExitCode::" in text[caught.end() : block_end(text, caught.end() - 1)]:
            wrong.append(at(caught.start(), "an error that is caught gets its exit code from exit_code_of()"))
    return wrong


def sources() -> list[pathlib.Path]:
    return sorted(
        file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in ENDINGS and file != MAP
    )


def test_no_source_names_the_exit_code_of_an_error() -> None:
    assert len(sources()) > 500
    assert [f"{file.relative_to(ROOT)}:{one}" for file in sources() for one in findings(file.read_text())] == []


@pytest.mark.parametrize(
    "planted",
    [
        'throw Error(ExitCode::usage, "no such file");',
        'throw UsageError(path + ": cannot be written: " + std::strerror(errno));',
        "throw peakmark::UsageError(\n    fmt::format(\"{}\", std::strerror(error)));",
        "try {\n} catch (const Error& error) {\n  if (a) { b(); }\n  return static_cast<int>(ExitCode::usage);\n}",
    ],
)
def test_a_planted_fault_is_found(planted: str) -> None:
    assert len(findings(f"int f() {{\n{planted}\n}}\n")) == 1


@pytest.mark.parametrize(
    "right",
    [
        'throw io_error(path, "cannot be written", errno);',
        "// throw Error(ExitCode::usage)",
        "try {\n} catch (const CLI::ParseError& error) {\n  return static_cast<int>(ExitCode::usage);\n}",
        "try {\n} catch (const std::exception& error) {\n  return static_cast<int>(exit_code_of(error));\n}\nreturn ExitCode::clean;",
    ],
)
def test_what_is_right_is_left_alone(right: str) -> None:
    assert findings(f"int f() {{\n{right}\n}}\n") == []
