import json

import pandas as pd
import pytest
from peakmark_reports.run_file import RunFileError, load_run
from sample_run import observation, run_document, write_run


def test_each_case_is_a_row_and_unknown_values_are_not_zero(tmp_path):
    unsupported = observation("padding/old", "edge", 32, time=False, outcome="unsupported")
    run = load_run(write_run(tmp_path / "run.json", [unsupported, observation("padding/new", "edge", 32)]))
    assert list(run.cases["variant"]) == ["padding/old", "padding/new"]
    assert run.cases["operation"].unique() == ["padding"]
    assert pd.isna(run.cases["peak"][0]) and pd.isna(run.cases["time"][0])
    assert run.cases["floor"][1] == 4 * 20 * 32 * 32 * 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "invalid or truncated JSON"),
        ('{"context": {"peakmark"', "invalid or truncated"),
        ('{"context": {}}', "not a run file of peakmark"),
        ("[1]", "not a run file of peakmark"),
    ],
)
def test_a_file_that_is_not_a_run_is_an_error(tmp_path, text, message):
    path = tmp_path / "run.json"
    path.write_text(text)
    with pytest.raises(RunFileError, match=message):
        load_run(path)


def test_a_later_minor_is_read(tmp_path):
    document = run_document([observation("padding/new", "edge", 32)])
    document["context"]["peakmark"] |= {"minor": 99, "later": {}}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    assert len(load_run(path).cases) == 1


def test_another_major_version_is_an_error(tmp_path):
    document = run_document([observation("padding/new", "edge", 32)])
    document["context"]["peakmark"]["version"] = 2
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    with pytest.raises(RunFileError, match="version of the run file: 2, not 1; use the peakmark that wrote it"):
        load_run(path)


def test_allocations_without_a_name_are_called_unnamed(tmp_path):
    one = observation("padding/new", "edge", 32)
    one["at_peak"] = [{"name": name, "kind": "buffer", "bytes": size} for name, size in (("", 5), ("a", 7), ("", 3))]
    run = load_run(write_run(tmp_path / "run.json", [one]))
    assert run.cases["at_peak"][0] == {"unnamed": 8, "a": 7}
