"""Tests the script of the page in a headless Chromium; skipped if there is none."""

import json
import shutil

import pytest
from chromium import PROGRAM, Page
from peakmark_reports.__main__ import main
from sample_history import HOSTILE, PEAK, TIME, case, change, history_run, run_text, series_text, shapes, trends_text, write_files
from sample_verdicts import check_text, compare_text, figure, judged, write_fake

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no chromium here: the page's script is not tested")
RUNS = 60
GREW = "padding/old/opencl/ny:7"
SIZES = {"desk": (1200, 900), "window": (1000, 800), "phone": (390, 844)}


def _history() -> tuple[str, str]:
    runs = [history_run(i, driver="2.0" if i >= 30 else "1.0") for i in range(RUNS)]
    cases = [case(f"padding/{variant}/opencl/ny:{ny}", RUNS) for variant in ("old", "new") for ny in range(60)]
    cases += [case(f"filter/{HOSTILE}/{'x' * 200}", RUNS, variant="filter/strange", axes={HOSTILE: HOSTILE})]
    for i, one in enumerate(cases):
        one["series"]["gpu_time_ns"] = [TIME * (1 + i / 100 + 0.01 * (j % 3)) for j in range(RUNS)]
    grew = next(one for one in cases if one["case"] == GREW)
    grew["series"]["requested_peak_bytes"] = [PEAK + (4096 if i >= 40 else 0) for i in range(RUNS)]
    grew["outcomes"][50] = "crashed"
    for values in grew["series"].values():
        values[50] = None
    driver = {"run": history_run(30)["id"], "date": history_run(30)["date"], "device": "a device", "what": "driver", "before": "1.0", "after": "2.0"}
    changes = [change(GREW, 40), change(cases[-1]["case"], 40, cause=[HOSTILE])]
    return series_text(runs, cases), trends_text(changes, environment_changes=[driver])


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    options = write_files(folder, *_history(), run_text(shapes()))
    assert main(["report", "-o", str(folder / "report"), *options]) == 0
    return folder / "report" / "index.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(browser, report):
    browser.set_view(*SIZES["desk"], dark=False)
    browser.errors.clear()  # after a call, so that errors of the previous page have arrived
    browser.open(report)
    browser.wait_for("document.querySelectorAll('#cases a.open').length > 0")
    yield browser
    assert browser.errors == []


def names(page):
    return page.evaluate("[...document.querySelectorAll('#cases a.open')].map((one) => one.textContent)")


def column(page, number):
    return page.evaluate(f"[...document.querySelectorAll('#cases tbody tr:not(.detail)')].map((one) => one.cells[{number}].textContent)")


def type_words(page, words):
    page.evaluate(
        f"(() => {{ const box = document.getElementById('words'); box.value = {json.dumps(words)};"
        "box.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


def sort_by(page, key):
    page.evaluate(f"document.querySelector('#cases th[data-key={key}] button').click()")


def open_case(page, report, fragment):
    page.open(report, fragment)
    page.wait_for("document.querySelectorAll('.detail .chart svg path').length > 1")


def test_the_worst_cases_are_first_and_the_rest_is_counted(page):
    assert set(names(page)[:2]) == {GREW, f"filter/{HOSTILE}/{'x' * 200}"}
    assert len(names(page)) == 100
    assert page.evaluate("document.getElementById('cases-count').textContent") == "121 cases, the first 100 shown"
    page.evaluate("document.querySelector('#cases-more button:last-child').click()")
    assert len(names(page)) == 121
    # The focus moves to the first new row.
    assert page.evaluate("document.activeElement.textContent") == names(page)[100]


def test_cases_are_filtered_by_words(page):
    type_words(page, "NEW ny:1")
    assert names(page) == [f"padding/new/opencl/ny:{ny}" for ny in sorted((1, *range(10, 20)), key=str)]
    assert page.evaluate("document.getElementById('cases-count').textContent") == "11 of 121 cases"
    type_words(page, "no such case")
    assert names(page) == []
    page.evaluate("document.querySelector('#filters button[type=reset]').click()")
    page.wait_for("document.querySelectorAll('#cases a.open').length === 100")


def test_cases_are_filtered_by_state_and_operation(page):
    for select, value, count in (("state", "regression", 2), ("operation", "filter", 1)):
        page.evaluate(
            f"(() => {{ const one = document.getElementById('{select}'); one.value = '{value}';"
            "one.dispatchEvent(new Event('input', { bubbles: true })); })()"
        )
        assert len(names(page)) == count


def test_columns_sort_both_ways_and_back(page):
    before = names(page)
    sort_by(page, "time")
    assert page.evaluate("document.querySelector('#cases th[data-key=time]').getAttribute('aria-sort')") == "descending"
    largest = names(page)
    assert largest[0].startswith("filter/")
    sort_by(page, "time")
    assert names(page)[0] == "padding/old/opencl/ny:0"
    sort_by(page, "time")
    assert names(page) == before
    sort_by(page, "name")
    assert names(page) == sorted(names(page))


def test_an_address_opens_a_case(page, report):
    open_case(page, report, "#case=padding%2Fold%2Fopencl%2Fny%3A7")
    assert page.evaluate("document.activeElement.textContent") == GREW
    text = page.evaluate("document.querySelector('.detail').textContent")
    assert f"regression 2026-02-13: peak {PEAK} → {PEAK + 4096}" in text
    assert "added: flags (buffer), 4096 B" in text
    charts = page.evaluate("[...document.querySelectorAll('.detail h4')].map((one) => one.textContent)")
    assert charts == ["Peak", "Time", "Peak / estimate"]
    # The change, the new driver and the crash are drawn.
    assert page.evaluate("document.querySelectorAll('.chart:first-child line.change').length") == 1
    assert page.evaluate("document.querySelector('.chart:first-child line.environment title').textContent") == "2026-02-03: driver 1.0 → 2.0"
    assert page.evaluate("document.querySelectorAll('.chart:first-child path title').length") == 1


def test_an_address_has_filters_and_order(page, report):
    type_words(page, "new")
    sort_by(page, "time")
    address = page.evaluate("location.hash")
    wanted = names(page)
    page.open(report, address)
    page.wait_for("document.querySelectorAll('#cases a.open').length > 0")
    assert names(page) == wanted and len(wanted) == 60


def test_an_address_names_its_device(browser, tmp_path):
    """The address has the name of the device, because its index changes with other devices."""
    devices = ("a device", "b device")
    runs = [history_run(i, device) for i in range(3) for device in devices]
    cases = [case("padding/a", 6, device) for device in devices]
    for one in cases:
        for name, values in one["series"].items():
            one["series"][name] = [v if run["device"] == one["device"] else None for v, run in zip(values, runs)]
        one["outcomes"] = ["ok" if run["device"] == one["device"] else None for run in runs]
    options = write_files(tmp_path, series_text(runs, cases), trends_text([change("padding/a", 1, device="b device", run="run1@b device")]))
    assert main(["report", "-o", str(tmp_path / "report"), *options]) == 0
    browser.set_view(*SIZES["desk"], dark=False)
    browser.open(tmp_path / "report" / "index.html")
    address = browser.evaluate("document.querySelector('.findings a.case').hash")
    assert address == "#case=padding%2Fa&device=b+device+%28opencl%29"
    opened = "[...document.querySelectorAll('a.open[aria-expanded=true]')].map(() => document.getElementById('device').selectedOptions[0].textContent)"
    for device in devices:
        open_case(browser, tmp_path / "report" / "index.html", address.replace("b+", f"{device[0]}+"))
        assert browser.evaluate(opened) == [f"{device} (opencl)"]
    # An address of an earlier version, and one of all devices.
    for fragment, shown in (("#only=b+device+%28opencl%29", 1), ("#device=all", 2)):
        browser.open(tmp_path / "report" / "index.html", fragment)
        browser.wait_for("document.querySelectorAll('#cases a.open').length > 0")
        assert len(names(browser)) == shown
    assert sorted(column(browser, 1)) == ["a device (opencl)", "b device (opencl)"]


def test_an_unknown_case_is_reported(page, report):
    page.open(report, "#case=removed%3Cb%3E")
    page.wait_for("document.getElementById('cases-count').textContent.startsWith('No case removed<b> in this report. 121 cases')")


def test_links_of_findings_open_their_case(page):
    page.evaluate("document.querySelector('.findings a.case').click()")
    page.wait_for("document.querySelectorAll('.detail .chart svg path').length > 1")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"


def test_the_keyboard_opens_a_case_and_walks_along_its_runs(page):
    page.evaluate("document.querySelector('#cases a.open').focus()")
    type_words(page, "old/opencl/ny:7")
    page.evaluate("document.querySelector('#cases a.open').focus()")
    page.press("Enter")
    page.wait_for("document.querySelectorAll('.detail .chart svg path').length > 1")
    page.evaluate("document.querySelector('.chart svg').focus()")
    value_text = lambda: page.evaluate("document.querySelector('.chart svg').getAttribute('aria-valuetext')")  # noqa: E731
    assert value_text().startswith("2026-03-04: 6.754 MiB (7,081,984 B), commit")
    page.press("c", "KeyC")
    assert value_text().startswith("2026-02-13: 6.754 MiB") and value_text().endswith("regression +0.1 %")
    page.press("ArrowLeft")
    assert value_text().startswith("2026-02-12: 6.75 MiB (7,077,888 B)")
    page.press("Home")
    assert value_text().startswith("2026-01-01")
    assert page.evaluate("document.querySelector('.chart figcaption').textContent").startswith("2026-01-01")


def test_every_run_is_in_a_table(page, report):
    open_case(page, report, "#case=padding%2Fold%2Fopencl%2Fny%3A7")
    page.evaluate("document.querySelector('.detail details').open = true")
    page.wait_for("document.querySelectorAll('.detail table tbody tr').length === 60")
    crashed = page.evaluate("[...document.querySelectorAll('.detail table tbody tr')].map((one) => one.textContent).find((one) => one.includes('crashed'))")
    assert crashed.startswith("2026-02-23 02:00") and crashed.endswith("––––")


def test_texts_of_the_history_are_not_executed(page, report):
    page.evaluate("window.alert = () => { throw new Error('a text was run'); }")
    type_words(page, "filter")
    page.evaluate("document.querySelector('#cases a.open').click()")
    page.wait_for("document.querySelectorAll('.detail .chart svg path').length > 1")
    assert HOSTILE in page.evaluate("document.querySelector('.detail').textContent")
    assert page.evaluate("document.querySelectorAll('img[src=x]').length") == 0


def test_a_missing_file_is_reported(browser, report, tmp_path):
    alone = tmp_path / "index.html"
    alone.write_bytes(report.read_bytes())
    browser.set_view(*SIZES["desk"], dark=False)
    browser.open(alone, "#case=padding%2Fold%2Fopencl%2Fny%3A7")
    said = "document.getElementById('cases-count').textContent.includes('cannot be read') && document.getElementById('cases-count').textContent"
    assert browser.wait_for(said) == "data/device-0.js cannot be read: it belongs to this page; keep the folder together."
    shutil.copytree(report.parent / "data", tmp_path / "data", ignore=shutil.ignore_patterns("cases-*"))
    browser.open(alone, "#case=padding%2Fold%2Fopencl%2Fny%3A7")
    said = browser.wait_for("document.querySelector('.detail [role=alert]')?.textContent")
    assert said == "data/cases-0.js cannot be read: it belongs to this page; keep the folder together."


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_window(page, report, size, dark):
    page.set_view(*SIZES[size], dark)
    open_case(page, report, "#case=padding%2Fold%2Fopencl%2Fny%3A7")
    width = SIZES[size][0]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sideways = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel ?? one.id)"
    assert page.evaluate(sideways) == []
    drawn, scroll = page.evaluate("['.detail .box', '#scroll'].map((one) => document.querySelector(one).getBoundingClientRect().right)")
    assert drawn <= scroll
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(21, 23, 26)") == dark


@pytest.mark.parametrize("dark", [False, True])
def test_texts_have_enough_contrast(page, dark):
    page.set_view(*SIZES["desk"], dark)
    grounds = {"--ink": "--card", "--quiet": "--page", "--accent": "--card", "--bad": "--bad-fill", "--warn": "--warn-fill", "--good": "--good-fill"}
    for colour, ground in grounds.items():
        assert page.contrast(f"var({colour})", f"var({ground})") >= 4.5, (colour, ground)


def test_every_control_has_a_name(page, report):
    open_case(page, report, "#case=padding%2Fold%2Fopencl%2Fny%3A7")
    assert page.unnamed() == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))


@pytest.fixture(scope="module")
def run_page(tmp_path_factory):
    """The page of a run against another one, with long names."""
    folder = tmp_path_factory.mktemp("run")
    observations = shapes()
    for one in observations:
        one["estimate"]["estimator"] = "python:a_package.a_module_with_a_long_name:a_function"
    long_name = f"padding/{'x' * 200}"
    cases = [judged(long_name, "fail", reason="window_bytes", advice=["y" * 200]), judged(HOSTILE, "counted", reason=HOSTILE, advice=[HOSTILE])]
    cases += [judged(one["case"], estimate_ratio=1.0) for one in observations] + [judged(f"filter/{i}") for i in range(150)]
    figures = [figure(long_name, "regressed", PEAK, PEAK + 4096, "grew"), figure(observations[0]["case"], "same", PEAK, PEAK, "same")]
    compared = compare_text(figures, "z" * 200, only_new=["w" * 200])
    options = write_fake(folder, observations, check_text(cases, "158 cases", 1), compared, environment={"v" * 50: "u" * 200}, warnings=["t" * 200])
    assert main([*options, "--against", "base.json"]) == 0
    return folder / "report" / "index.html"


@pytest.fixture
def opened_run(browser, run_page):
    browser.set_view(*SIZES["desk"], dark=False)
    browser.errors.clear()
    browser.open(run_page)
    browser.wait_for("document.querySelectorAll('#cases tbody tr').length > 0")
    yield browser
    assert browser.errors == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_of_the_page_of_a_run_is_wider_than_the_window(opened_run, size, dark):
    opened_run.set_view(*SIZES[size], dark)
    assert opened_run.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
    sideways = "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel ?? one.id)"
    assert opened_run.evaluate(sideways) == []
    if size == "phone":
        # The verdict and the worst case are on the first screen.
        bottom = "document.querySelector('.findings .badge').getBoundingClientRect().bottom"
        assert opened_run.evaluate(bottom) < SIZES[size][1]


def test_the_cases_of_a_run_are_filtered_and_sorted(opened_run):
    count = "document.getElementById('cases-count').textContent"
    assert opened_run.evaluate(count) == "158 cases, the first 100 shown"
    assert opened_run.evaluate("[...document.querySelectorAll('#cases thead th')].map((one) => one.textContent)") == [
        "Case", "Verdict", "Compared", "Peak", "Time", "Peak / estimate",
    ]  # fmt: skip
    type_words(opened_run, "padding")
    assert opened_run.evaluate(count) == "7 of 158 cases"
    sort_by(opened_run, "peak")
    assert "ny:128" in column(opened_run, 0)[0]
    type_words(opened_run, "")
    opened_run.evaluate(
        "(() => { const one = document.getElementById('judgement'); one.value = 'counted'; one.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )
    assert column(opened_run, 0) == [HOSTILE]
    assert column(opened_run, 1) == [f"warning {HOSTILE.replace('_', ' ')}"]


def test_every_control_of_the_page_of_a_run_has_a_name(opened_run):
    assert opened_run.unnamed() == []
    ids = opened_run.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
