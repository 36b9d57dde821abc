"""A history whose export left out some of the earlier runs."""

from __future__ import annotations

import json

import pytest
from peakmark_reports.common import InputError
from peakmark_reports.__main__ import main
from peakmark_reports.history_file import parse_history
from peakmark_reports.page_data import device_data, entries
from sample_history import PEAK, assessed_lines, case, change, history_run, trends_text, write_files

# The export has these of 10 runs.
SHOWN = (0, 4, 8, 9)
LEFT_OUT = {history_run(i)["id"]: 1 if i < 4 else 2 for i in range(10) if i not in SHOWN}


def lines(left_out: dict | None = None) -> list[str]:
    runs = [history_run(i) for i in SHOWN]
    one = case("padding/a", len(SHOWN))
    one["series"]["requested_peak_bytes"] = [PEAK, PEAK, PEAK + 4096, PEAK + 4096]
    return [json.dumps({"runs": runs, "left_out": LEFT_OUT if left_out is None else left_out}), json.dumps(one)]


def test_a_change_in_a_run_that_was_left_out_is_at_the_next_one():
    assessment = assessed_lines(lines(), trends_text([change("padding/a", 6, commit=f"{6:040x}")]))
    (finding,) = assessment.statuses[0].findings
    assert (finding.at, finding.change.date) == (2, history_run(6)["date"])
    (row,) = device_data(entries([assessment])[0])["rows"]
    (shown,) = [value for value in row if isinstance(value, list) and value and isinstance(value[0], dict)]
    assert (shown[0]["at"], shown[0]["date"]) == (2, "2026-01-07")


def test_a_change_of_the_environment_is_at_the_next_run():
    where = history_run(2)
    driver = {"device": where["device"], "run": where["id"], "date": where["date"], "what": "driver", "before": "1", "after": "2"}
    assessment = assessed_lines(lines(), trends_text(environment_changes=[driver]))
    assert device_data(entries([assessment])[0])["environment"] == [{"at": 1, "text": "driver 1 → 2"}]


def test_all_runs_are_counted_and_the_page_says_which_it_has(tmp_path):
    assert assessed_lines(lines(), trends_text()).run_count == 10
    for name, left_out, is_said in (("thinned", LEFT_OUT, True), ("whole", {}, False)):
        options = write_files(tmp_path, "\n".join(lines(left_out)), trends_text())
        assert main(["report", "-o", str(tmp_path / name), *options]) == 0
        page = (tmp_path / name / "index.html").read_text()
        assert (f"{4 + len(left_out)} runs, 2026-01-01 to 2026-01-10" in page, "at most 400" in page) == (True, is_said)


@pytest.mark.parametrize("place", [4, -1, "1", None])
def test_a_place_without_a_run_is_an_error(place):
    with pytest.raises(InputError, match="history: line 1: left_out: no run .* follows run1"):
        parse_history(lines({"run1": place}), "history")
