"""Tests the comparison of two runs, and files that are loaded when they are needed, in a headless Chromium; skipped if there is none."""

from urllib.parse import quote_plus

import pytest
from chromium import PROGRAM, Page
from peakmark_reports.__main__ import main
from peakmark_reports.page_data import CASES_PER_FILE
from sample_history import PEAK, TIME, device_cases, history_run, series_text, trends_text, write_files

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no chromium here: the page's script is not tested")
DEVICES = ("a device", "b device")
CASES = CASES_PER_FILE + 44
NAMES = [f"padding/old/opencl/n:{i:03d}" for i in range(CASES)]
COUNT = "document.getElementById('compare-count').textContent"


def _cases(runs):
    """On b, from run 6 on, case 7 needs 4,096 bytes more, case 8 twice the bytes, case 9 crashes; case 10 is slower by 40 %."""
    cases = device_cases(runs, DEVICES, NAMES)
    for i, run in enumerate(runs):
        if run["device"] != "b device" or run["date"] < history_run(6)["date"]:
            continue
        of_b = cases[CASES:]
        of_b[7]["series"]["requested_peak_bytes"][i] = PEAK + 4096
        of_b[8]["series"]["requested_peak_bytes"][i] = 2 * PEAK
        of_b[9]["outcomes"][i] = "crashed"
        for values in of_b[9]["series"].values():
            values[i] = None
        of_b[10]["series"]["gpu_time_ns"][i] = 1.4 * TIME
    return cases


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    runs = [history_run(i, device, branch="main", suite="nightly") for i in range(8) for device in DEVICES]
    assert main(["report", "-o", str(folder / "report"), *write_files(folder, series_text(runs, _cases(runs)), trends_text())]) == 0
    return folder / "report" / "index.html"


@pytest.fixture
def page(tmp_path, report):
    with Page(tmp_path) as one:
        one.set_view(1200, 900, dark=False)
        yield one
        assert one.errors == []


def address(before, after, device="b device", **more):
    wanted = {"compare": f"run{before}@{device}..run{after}@{device}"} | more | {"device": f"{device} (opencl)", "branch": "main"}
    return "#" + "&".join(f"{key}={quote_plus(value)}" for key, value in wanted.items())


def table(page):
    return page.evaluate("[...document.querySelectorAll('#compare tbody tr')].map((one) => [...one.cells].map((cell) => cell.textContent))")


def compared(page):
    page.wait_for(f"{COUNT}.includes('outcome')")
    return table(page)


def loaded(page):
    return page.evaluate("[...document.querySelectorAll('head script')].map((one) => one.getAttribute('src').split('?')[0])")


def test_files_are_loaded_when_they_are_needed(page, report):
    page.open(report)
    page.wait_for("document.querySelectorAll('#cases a.open').length > 0")
    assert loaded(page) == ["data/device-0.js"]
    page.evaluate("document.querySelector('#cases a.open').click()")
    page.wait_for("document.querySelectorAll('.detail .chart svg path').length > 1")
    assert loaded(page) == ["data/device-0.js", "data/cases-0.js"]


def test_an_address_compares_two_runs(page, report):
    page.open(report, address(5, 6))
    rows = compared(page)
    size, more = "6.75 MiB", "6.754 MiB"
    assert [row[0] for row in rows[:4]] == [NAMES[9], NAMES[8], NAMES[7], NAMES[10]]
    assert rows[0][1:4] == [size, "crashed", "–"]
    assert rows[1][1:4] == [size, "13.5 MiB", "+6.75 MiB (7,077,888 B), +100.0 %"]
    assert rows[2][1:4] == [size, more, "+4 KiB (4,096 B), +0.1 %"]
    assert rows[3][1:] == [size, size, "same", "565.7 µs", "792 µs", "+40.0 %"]
    assert f"{CASES} cases, the first 100 shown; 2 with other bytes, 1 with another outcome." in page.evaluate(COUNT)
    # The series of device a are not needed; the list of its cases is.
    page.wait_for("document.querySelectorAll('#cases a.open').length > 0")
    assert set(loaded(page)) == {"data/device-0.js", "data/device-1.js", "data/cases-2.js", "data/cases-3.js"}
    # The other direction.
    page.open(report, address(6, 5))
    assert compared(page)[1][3] == "−6.75 MiB (7,077,888 B), −50.0 %"


def test_the_comparison_is_filtered_and_sorted_and_its_address_has_that(page, report):
    page.open(report, address(5, 6))
    compared(page)
    page.evaluate(
        "(() => { const box = document.getElementById('compare-words'); box.value = 'OLD n:01';"
        "box.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )
    page.evaluate("document.querySelector('#compare th[data-key=name] button').focus(); document.activeElement.click()")
    assert page.evaluate("document.activeElement.textContent") == "Case"
    wanted = [row[0] for row in table(page)]
    assert wanted == NAMES[10:20]
    page.evaluate("document.querySelector('#compare th[data-key=time-change] button').click()")
    assert [row[0] for row in table(page)][0] == NAMES[10]
    fragment = page.evaluate("location.hash")
    assert fragment == address(5, 6, words="OLD n:01", sort="time-change-down")
    page.open(report, fragment)
    assert len(compared(page)) == 10
    assert page.evaluate("document.querySelector('#compare th[data-key=time-change]').getAttribute('aria-sort')") == "descending"


def test_runs_are_chosen_in_the_form(page, report):
    page.open(report)
    page.wait_for("document.getElementById('compare-before').options.length === 8")
    chosen = "['compare-before', 'compare-after'].map((id) => document.getElementById(id).selectedOptions[0].textContent.slice(0, 10))"
    assert page.evaluate(chosen) == ["2026-01-07", "2026-01-08"]
    page.evaluate(
        "(() => { const one = document.getElementById('compare-device'); one.value = '1';"
        "one.dispatchEvent(new Event('input', { bubbles: true })); document.getElementById('compare-before').value = '0'; })()"
    )
    page.wait_for("document.getElementById('compare-before').value === '6'")
    page.evaluate("document.getElementById('compare-before').value = '0'; document.getElementById('compare-form').requestSubmit()")
    assert [row[0] for row in compared(page)[:2]] == [NAMES[9], NAMES[8]]
    assert page.evaluate("location.hash") == address(0, 7)
    # A case of the comparison opens on its device.
    page.evaluate("document.querySelector('#compare a.case').click()")
    page.wait_for("document.querySelector('.detail .chart svg path')")
    assert page.evaluate("document.getElementById('device').selectedOptions[0].textContent") == "b device (opencl)"
    assert page.evaluate("document.activeElement.textContent") == NAMES[9]


def test_a_run_that_is_not_there_is_reported(page, report):
    page.open(report, address(5, 99))
    page.wait_for(f"{COUNT} === 'No run run99@b device of b device (opencl) in this report.'")


def test_every_control_has_a_name_and_fits(page, report):
    for width in (1200, 390):
        page.set_view(width, 850, dark=True)
        page.open(report, address(5, 6))
        compared(page)
        assert page.unnamed() == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_copies_of_the_address_open_the_same_case_on_each_device(page, report):
    for number, device in enumerate(DEVICES):
        page.open(report, f"#case={quote_plus(NAMES[290])}&device={quote_plus(device + ' (opencl)')}&branch=main")
        page.wait_for("document.querySelector('.detail .chart svg path')")
        assert page.evaluate("document.getElementById('device').value") == str(number)
        assert page.evaluate("document.activeElement.textContent") == NAMES[290]
        # Beyond the first 100 rows.
        assert page.evaluate("document.querySelectorAll('#cases a.open').length") > 100
