"""Reads one file of each format of 0.1 (`formats/`) with the commands that read it, and writes each format again.

A format that is written with another version, or without a key of the file of 0.1, fails. `python test_formats.py NAME …` writes
files of a new format into `formats/`; those of a released version are never changed.
"""

import datetime
import json
import re
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

import pytest
import team_project

sys.path.insert(0, str(team_project.ROOT / "reports"))
from peakmark_reports import history_file, run_file, trend_file  # noqa: E402

FORMATS = Path(__file__).parent / "formats"
# Objects with facts about the machine, whose keys differ from machine to machine.
OF_THE_MACHINE = {"environment", "facts", "clocks"}
# The buffers of formats/hold.py and of the process that it starts, which are live at the same time.
PEAKS = [4096, 1000]


def a_later_run(first: Path, second: Path) -> None:
    """Writes the run of a day later, with larger peaks and the next commit."""
    run = json.loads(first.read_text(encoding="utf-8"))
    context = run["context"]["peakmark"]
    date = datetime.datetime.fromisoformat(context["date"].replace("Z", "+00:00")) + datetime.timedelta(days=1)
    context |= {"id": context["id"] + "-later", "date": date.strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": "2" * 40}
    for one in (row["peakmark"] for row in run["benchmarks"] if "peakmark" in row):
        for key in ("requested_peak_bytes", "first_call_peak_bytes", "second_pass_peak_bytes"):
            one[key] += 1 << 20
        one["at_peak"][0]["bytes"] += 1 << 20
    second.write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")


def write(folder: Path) -> None:
    """Writes a file of each format, except suites and answers of programs, which people write."""
    for name in ("suite.toml", "estimator.json", "estimator.sh", "hold.py"):
        shutil.copy(FORMATS / name, folder)
    team_project.sh("peakmark run suite.toml --filter mul_add --sequences -o run.json", folder)
    a_later_run(folder / "run.json", folder / "later.json")
    team_project.sh(
        """
peakmark check run.json --update-baseline baseline.jsonl >/dev/null
peakmark history create --history history.db
peakmark history add run.json later.json --history history.db
peakmark history export --history history.db --format series >series.jsonl
peakmark history export --history history.db --format jsonl >measurements.jsonl
peakmark history export --history history.db --format bencher >bencher.json
peakmark trends --history history.db --json --notify 'cat >notification.json' >trends.json || [ $? = 1 ]
peakmark compare run.json later.json --json >comparison.json || [ $? = 1 ]
peakmark check run.json --json >verdicts.json
peakmark list suite.toml --json >cases.json
peakmark-programs suite.toml --describe >description.json
peakmark estimate mul_add/whole n=4 --json >estimate.json
peakmark estimate command:./estimator.sh --dimensions 5,6 --slices 4 --json >estimate_of_a_command.json
mv asked.json question.json
peakmark doctor --json >findings.json || [ $? = 4 ]
peakmark devices --json >devices.json
"""
        f"""
program="python3 hold.py {PEAKS[0]} {PEAKS[1]}"
peakmark record --stacks -o tree.peak -- $program
peakmark show tree.peak --json >show.json
peakmark record --compact -o compact.peak -- $program
peakmark record --repeat 2 --json -o repeated.peak -- $program >repeated_peaks.json
""",
        folder,
    )
    with sqlite3.connect(folder / "history.db") as history:
        (folder / "history.sql").write_text("\n".join(history.iterdump()) + "\n", encoding="utf-8")


COMMITTED = sorted(path.name for path in FORMATS.iterdir())
# Written by people, or by programs that peakmark starts.
NOT_WRITTEN = {"estimator.json"}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    write(folder)
    return folder


@pytest.fixture
def kept(tmp_path) -> Path:
    """Returns a folder with the files of 0.1."""
    shutil.copytree(FORMATS, tmp_path, dirs_exist_ok=True)
    with sqlite3.connect(tmp_path / "history.db") as history:
        history.executescript((tmp_path / "history.sql").read_text(encoding="utf-8"))
    return tmp_path


def documents(path: Path) -> list:
    """Returns the JSON of a file: all of it, or of each line."""
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else [json.loads(text)]


def keys(value, at: str = "") -> set[str]:
    """Returns the path of each key; the elements of a list have one path."""
    if isinstance(value, list):
        return {at}.union(*(keys(element, f"{at}[]") for element in value))
    if not isinstance(value, dict) or at.rpartition(".")[2] in OF_THE_MACHINE:
        return {at}
    return {at}.union(*(keys(element, f"{at}.{key}") for key, element in value.items()))


@pytest.mark.parametrize("name", [name for name in COMMITTED if name.endswith((".json", ".jsonl")) and name not in NOT_WRITTEN])
def test_json_is_written_with_the_version_and_every_key_of_0_1(written, name):
    before, now = documents(FORMATS / name), documents(written / name)
    written_keys = keys(now)
    # If a list is empty on this machine, such as findings, none of its keys is compared.
    assert {key for key in keys(before) - written_keys if key.rpartition("[]")[0] + "[]" in written_keys} == set()
    for key in ("version", "minor", "protocol", "peakmark_baseline"):
        assert before[0].get(key) == now[0].get(key)


def test_the_version_of_run_files_is_that_of_0_1(written):
    before, now = (json.loads((folder / "run.json").read_text())["context"]["peakmark"] for folder in (FORMATS, written))
    assert (now["version"], now["minor"]) == (before["version"], before["minor"]) == (1, 0)


@pytest.mark.parametrize("name", [name for name in COMMITTED if ".peak" in name])
def test_profiles_are_written_with_the_header_of_0_1(written, name):
    before, now = ((folder / re.sub(r"\.\d+$", "", name)).read_bytes() for folder in (FORMATS, written))
    assert [now[:16], now[120:124]] == [before[:16], before[120:124]]  # magic, version, size of the header; minor


def test_histories_are_written_with_the_tables_of_0_1(written):
    def tables(folder: Path) -> set[str]:
        return set(re.findall(r"^CREATE [^;]*;", (folder / "history.sql").read_text(encoding="utf-8"), re.M))

    assert tables(written) == tables(FORMATS)


def test_commands_read_the_files_of_0_1(kept):
    checked = team_project.sh("peakmark check run.json --baseline baseline.jsonl", kept)
    assert "4 cases: 0 pass, 4 warnings (4 granularity), 0 fail" in checked
    with (kept / "run.json").open(encoding="utf-8") as text:
        peak = max(row["peakmark"]["requested_peak_bytes"] for row in json.load(text)["benchmarks"] if "peakmark" in row)
    assert peak == 2 * 4 * 3 * 60 * 70  # dst and other, of floats
    assert team_project.sh("peakmark show run.json", kept).count("  ok  peak ") == 4
    assert "1 finding: 1 regression" in team_project.sh("peakmark trends --history history.db || [ $? = 1 ]", kept)
    (kept / "worker.toml").write_text('[[sweep]]\nvariants = "hold/*"\nbackend = "opencl"\n', encoding="utf-8")
    assert team_project.sh("peakmark list worker.toml --worker ./worker.sh", kept) == "hold/twice/opencl"


def test_an_unfinished_run_of_0_1_is_resumed(kept):
    (kept / "run.json").unlink()
    # A run can be resumed only with the same build.
    commit = json.loads(team_project.sh("peakmark-bench --describe", kept))["commit"]
    partial = kept / "run.json.partial"
    partial.write_text(re.sub('"commit":"[^"]*"', f'"commit":"{commit}"', partial.read_text(encoding="utf-8"), count=1), encoding="utf-8")
    resumed = team_project.sh("peakmark run suite.toml --filter mul_add --sequences -o run.json --resume 2>&1", kept)
    assert "resumed: 1 case is measured already" in resumed


def test_profiles_of_0_1_are_read(kept):
    for name in ("tree.peak", "compact.peak"):
        shown = json.loads(team_project.sh(f"peakmark show {name} --json", kept))
        assert shown["tree_peak_bytes"] == sum(PEAKS)
        assert [process["requested"]["peak_bytes"] for process in (shown, *shown["processes"])] == PEAKS


def test_answers_of_estimators_of_0_1_are_read(kept):
    answer = json.loads(team_project.sh("peakmark estimate command:./estimator.sh --dimensions 5,6 --slices 4 --json", kept))
    assert (answer["bytes"], answer["dtype"], answer["terms"]) == (
        1000, "f32", [{"name": "work", "per_slice_bytes": 200, "fixed_bytes": 200}],
    )  # fmt: skip
    assert keys(json.loads((kept / "asked.json").read_text())) == keys(json.loads((kept / "question.json").read_text()))


@pytest.mark.parametrize(
    "section, file",
    [("Run file", "run.json"), ("JSON of `show`", "show.json"), ("Verdicts", "verdicts.json"), ("Trends", "trends.json"), ("Comparisons", "comparison.json")],
)
def test_docs_formats_has_each_key(section, file):
    page = (team_project.ROOT / "docs/formats.md").read_text(encoding="utf-8")
    text = re.split(rf"^## {re.escape(section)}$", page, flags=re.MULTILINE)[1].split("\n## ")[0]
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", text)))) | {"version", "minor"}
    document = json.loads((FORMATS / file).read_text(encoding="utf-8"))
    if file == "run.json":  # beside Google Benchmark's keys
        document = [document["context"]["peakmark"], *(row["peakmark"] for row in document["benchmarks"] if "peakmark" in row)]
    paths = [re.findall(r"[^.\[\]]+", path) for path in keys(document)]
    # The keys of these objects are names of axes, of kinds of memory and of facts about the machine.
    assert {path[-1] for path in paths if path and not {"axes", "by_kind", *OF_THE_MACHINE} & set(path[:-1])} - documented == set()


def test_reports_read_the_files_of_0_1():
    assert len(run_file.load_run(FORMATS / "run.json").cases) == 4
    history = history_file.load_history(FORMATS / "series.jsonl")
    assert [len(device.runs) for device in history.devices] == [2]
    trends = trend_file.parse_trends((FORMATS / "trends.json").read_text(encoding="utf-8"), "trends.json")
    assert len(trends.changes) == 2 * 4  # peak and estimate of each case


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        write(Path(made))
        for wanted in sys.argv[1:]:
            for path in Path(made).glob(wanted + "*"):
                shutil.copy(path, FORMATS)
