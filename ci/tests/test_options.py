"""Compares the options of `--help` with those of the pages in docs/."""

import re
import sys

import pytest
import team_project

sys.path.insert(0, str(team_project.ROOT / "reports"))
from peakmark_reports.__main__ import OPTIONS  # noqa: E402

PAGES = sorted((team_project.ROOT / "docs").rglob("*.md"))
OPTION = re.compile(r"(?<![\w=-])--?[a-zA-Z][\w-]*")
# A table of options: the commands of its first line, `| option of ``run`` |`, and its rows.
TABLE = re.compile(r"^\| option of ([^|]*)\|.*\n\|[-|: ]*\n((?:\|.*\n)+)", re.M)


def all_commands(parent: str = "") -> dict[str, set[str]]:
    """Returns the options of each command and subcommand, as `--help` has them."""
    text = team_project.sh(f"peakmark {parent} --help", team_project.ROOT)
    found = {parent: set(OPTION.findall(" ".join(re.findall(r"^  (-\S+)", text, re.M))))}
    for name in re.findall(r"^  ([a-z][a-z-]*) ", text.partition("\nCommands:\n")[2].partition("\n\n")[0], re.M):
        found |= all_commands(f"{parent} {name}".strip())
    return found


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    return all_commands()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_options_of_a_table_are_those_of_the_command(commands, page):
    for names, rows in TABLE.findall(page.read_text(encoding="utf-8")):
        named = [name for name in re.findall(r"`([a-z -]+)`", names) if name in commands]  # pytest is not
        first_cells = " ".join(re.split(r"(?<!\\)\|", row)[1] for row in rows.splitlines())
        written = set(OPTION.findall(" ".join(re.findall(r"`([^`]*)`", first_cells))))
        assert not named or written - set().union(*(commands[name] for name in named)) == set(), f"not in the help of {named}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_of_options_name_their_command(page):
    assert re.findall(r"^\| option \|.*", page.read_text(encoding="utf-8"), re.M) == []


def test_every_option_is_in_the_docs(commands):
    written = {"-h", "--help", "--version"}.union(*(OPTION.findall(page.read_text(encoding="utf-8")) for page in PAGES))
    assert {name: missing for name, options in commands.items() if (missing := options - written)} == {}


@pytest.mark.parametrize("command", ["plot", "report"])
def test_python_takes_every_option_of_its_command(commands, command):
    missing = {one for one in commands[command] if one.startswith("--") and one[2:].replace("-", "_") not in OPTIONS[command]}
    assert missing == {"--help"}
