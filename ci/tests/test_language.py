"""Checks that words that this project avoids do not come back, and says what to write instead."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AVOIDED = {
    r"told|tells?|telling": "report, print, return",
    r"stands? (?:in|beside|next to|there)": "is in, is next to",
    r"mend(?:s|ed|ing)?": "fix",
    r"troubles?": "error, failure",
    r"(?:in|by) turns": "interleaved",
    r"at the (?:most|least)": "max, min, at most, at least",
    r"(?:no|make|has|find|found) room|room (?:for|there|beside)": "space, memory",
    r"held? against": "compare with",
    r"nights?": "run",
    r"set-up(?!-ci\.md)": "setup",
}
PATTERN = re.compile(r"\b(?:" + "|".join(f"({words})" for words in AVOIDED) + r")\b", re.IGNORECASE)
# Where the next word in a name begins; words in names are checked like words in sentences.
NEXT_WORD = re.compile(r"_|(?<=[a-z0-9])(?=[A-Z])")
SKIPPED = re.compile(r"\.(?:profile|svg|png|json|jsonl|sql)$|/corpus/|^ci/tests/test_language\.py$")
# Technical meanings and fixed names: file, text of the line.
ALLOWED = {
    ".gitlab-ci.yml": "at night",
    "docs/ci.md": "very night",  # of the nightly job
    "docs/set-up-ci.md": "very night",
}


def problems(name: str, text: str) -> list[str]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for match in PATTERN.finditer(NEXT_WORD.sub(" ", line)):
            if not (name in ALLOWED and ALLOWED[name] in line):
                instead = list(AVOIDED.values())[match.lastindex - 1]
                found.append(f"{name}:{number}: {match[0]!r}; write: {instead}")
    return found


def test_avoided_words_are_found_in_sentences_and_names():
    assert problems("a.md", "It is told.\nThe `nights` of trends; set-up") == [
        "a.md:1: 'told'; write: report, print, return", "a.md:2: 'nights'; write: run", "a.md:2: 'set-up'; write: setup",
    ]
    assert problems("a_test.cpp", "TEST_F(Case, AnErrorIsTold) {") == ["a_test.cpp:1: 'Told'; write: report, print, return"]
    assert problems("a.cpp", 'json.at("next_night");') == ["a.cpp:1: 'night'; write: run"]
    assert problems("a.cpp", "// nightly, recommend, telltale") == []


def test_no_file_has_avoided_words():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    found = []
    for name in names:
        if not SKIPPED.search(name) and (ROOT / name).is_file():
            found += problems(name, (ROOT / name).read_text(encoding="utf-8", errors="replace"))
    assert not found, "\n".join(found)
