"""`peakmark history import` and `export`, compared with the database as sqlite3 and pandas read it."""

import csv
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from statistics import median

import pandas
import pytest

ROOT = Path(__file__).resolve().parents[2]
PEAKMARK = os.environ.get("PEAKMARK_COMMAND", str(ROOT / "build/prefix/bin/peakmark"))
IMPORTS = ROOT / "harness/measure/runfile/imports"
METRICS = ["requested_peak_bytes", "setup_bytes", "leaked_bytes", "gpu_time_ns"]
MEASURES = {"requested_peak_bytes": "peak-bytes", "setup_bytes": "setup-bytes", "gpu_time_ns": "latency"}


class Project:
    def __init__(self, folder):
        self.folder = folder
        self.database = folder / "history.db"

    def peakmark(self, *words, code=0):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "GITLAB_"))}
        answer = subprocess.run(
            [PEAKMARK, *map(str, words), "--history", self.database], cwd=self.folder, text=True,
            capture_output=True, env=environment | {"PEAKMARK_PYTHON": sys.executable},
        )  # fmt: skip
        assert answer.returncode == code, answer.stderr
        return answer

    def measurements(self):
        """The rows of the view, by date."""
        with sqlite3.connect(self.database) as database:
            return pandas.read_sql("SELECT * FROM measurements ORDER BY date, case_name", database)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    one = Project(tmp_path_factory.mktemp("imported"))
    google = [IMPORTS / f"google_benchmark_{name}.json" for name in ("2016", "repetitions", "aggregates")]
    one.peakmark("history", "import", *google, "--device", "H100", "--backend", "cuda", "--branch", "main", "--suite", "blur")
    one.peakmark("history", "import", IMPORTS / "nvbench.json", "--date", "2024-05-06T04:00:00+02:00", "--commit", "1a2b3c")
    return one


def medians(path):
    """Times in ns by benchmark, from the repetitions of a file."""
    rows = [row for row in json.loads(path.read_text())["benchmarks"] if row["run_type"] == "iteration" and "error_occurred" not in row]
    scale = {"ns": 1, "us": 1000}
    names = {row["name"] for row in rows}
    return {name: median(row["real_time"] * scale[row["time_unit"]] for row in rows if row["name"] == name) for name in names}


def test_imported_runs_are_those_of_the_files(project):
    rows = project.measurements()
    repeated = rows[rows["date"] == "2021-09-30T10:04:13Z"].set_index("case_name")
    expected = medians(IMPORTS / "google_benchmark_repetitions.json")
    assert repeated["gpu_time_ns"].dropna().to_dict() == pytest.approx(expected)
    assert repeated.loc["BM_broken", "outcome"] == "crashed"
    assert set(rows[rows["date"] == "2024-05-06T02:00:00Z"]["device"]) == {"Quadro GV100", "Quadro GP100"}
    assert set(rows["setup_bytes"].dropna()) == set()
    with sqlite3.connect(project.database) as database:
        everything = "\n".join(database.iterdump())
    assert "gpu-node-17" not in everything and "/home/ada" not in everything


def test_csv_round_trip(project):
    text = project.peakmark("history", "export", "--device", "H100").stdout
    header, *lines = csv.reader(text.splitlines())
    found = {
        (line[0], *column.rsplit(" ", 1)): float(value)
        for line in lines for column, value in zip(header[3:], line[3:], strict=True) if value
    }  # fmt: skip
    rows = project.measurements()
    rows = rows[(rows["device"] == "H100") & (rows["outcome"] == "ok")]
    expected = {
        (row["date"], row["case_name"], metric): float(row[metric])
        for _, row in rows.iterrows() for metric in METRICS if pandas.notna(row[metric])
    }  # fmt: skip
    assert len(expected) > 10
    assert found == expected


def test_parquet_has_the_rows_of_the_database(project):
    project.peakmark("history", "export", "--format", "parquet", "-o", "history.parquet")
    found = pandas.read_parquet(project.folder / "history.parquet").sort_values(["date", "device", "case"], ignore_index=True)
    expected = project.measurements().sort_values(["date", "device", "case_name"], ignore_index=True)
    assert len(found) == len(expected) > 10
    assert str(found["requested_peak_bytes"].dtype) == "Int64" and str(found["date"].dtype) == "datetime64[ns, UTC]"
    assert list(found["date"]) == list(pandas.to_datetime(expected["date"], utc=True))
    for name, column in {"run": "run", "case": "case_name", "device": "device", "suite": "suite", "outcome": "outcome"}.items():
        assert list(found[name]) == list(expected[column]), name
    for metric in METRICS:
        ok = expected[metric].where(expected["outcome"] == "ok").astype("Float64")
        assert list(found[metric].astype("Float64").fillna(-1)) == list(ok.fillna(-1)), metric
    assert set(found[found["device"] == "H100"]["commit"].isna()) == {True}


def test_parquet_without_pyarrow_says_what_to_install(project):
    hidden = project.folder / "hidden"
    hidden.mkdir()
    (hidden / "pyarrow.py").write_text("raise ModuleNotFoundError(\"No module named 'pyarrow'\", name='pyarrow')\n")
    answer = subprocess.run(
        [PEAKMARK, "history", "export", "--format", "parquet", "-o", "none.parquet", "--history", project.database],
        cwd=project.folder, text=True, capture_output=True,
        env=os.environ | {"PEAKMARK_PYTHON": sys.executable, "PYTHONPATH": str(hidden)},
    )  # fmt: skip
    assert answer.returncode == 2
    assert "Python module pyarrow, which is missing" in answer.stderr and "-m pip install pyarrow" in answer.stderr
    assert not list(project.folder.glob("none.parquet*"))


def test_bencher_has_the_newest_values(project):
    found = json.loads(project.peakmark("history", "export", "--format", "bencher", "--device", "H100").stdout)
    rows = project.measurements()
    rows = rows[rows["device"] == "H100"]
    newest = rows.groupby("case_name").last()  # by date
    expected = {
        case: {MEASURES[metric]: {"value": row[metric]} for metric in MEASURES if pandas.notna(row[metric])}
        for case, row in newest.iterrows() if row["outcome"] == "ok"
    }  # fmt: skip
    assert found == {case: measures for case, measures in expected.items() if measures}
    several = json.loads(project.peakmark("history", "export", "--format", "bencher").stdout)
    assert several["Quadro GP100: simple"]["latency"]["value"] == pytest.approx(1002744.3022431728)


def test_a_report_can_be_made_of_imported_runs(project):
    project.peakmark("report", "-o", "report")
    page = (project.folder / "report/index.html").read_text()
    assert "BM_copy" in page or any("BM_copy" in file.read_text(errors="replace") for file in (project.folder / "report").rglob("*.js*"))
    assert "Quadro GV100" in page
    everything = "".join(file.read_text(errors="replace") for file in (project.folder / "report").rglob("*") if file.is_file())
    assert "gpu-node-17" not in everything and "/home/ada" not in everything
    trends = json.loads(project.peakmark("trends", "--json").stdout)
    assert {device["device"] for device in trends["devices"]} == {"H100", "Quadro GV100", "Quadro GP100"}
