"""The page of `peakmark show --html` in a headless Chromium: timeline, flame graph, keys, both themes.

The programs are recorded here with call stacks, so that the page has what a user's page has: phases, names, a child process.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "reports/tests"), str(ROOT / "harness/python/tests")]

from chromium import PROGRAM, Page  # noqa: E402
from recorded import environment, peakmark  # noqa: E402

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no chromium here: the script of the profile page is not tested")

MIB = 1 << 20
# The peak, 7 MiB, is in phase solve: 4 MiB of work within outer → inner, 1 MiB of data, 2 MiB of <b>late</b>.
SCRIPT = """
    import subprocess, sys
    import peakmark
    from small_opencl import Context
    context = Context()
    def inner():
        buffer = context.buffer(4 << 20)
        peakmark.name(buffer.int_ptr, "work")
        return buffer
    def outer():
        return inner()
    with peakmark.phase("prepare"):
        data = context.buffer(1 << 20)
        peakmark.name(data.int_ptr, "data")
    with peakmark.phase("solve"):
        work = outer()
        late = context.buffer(2 << 20)
        peakmark.name(late.int_ptr, "<b>late</b>")
        work.release()
    late.release()
    subprocess.run([sys.executable, "-c", "from small_opencl import Context; Context().buffer(3 << 20)"], check=True)
"""


@pytest.fixture(scope="module")
def profile_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    (folder / "program.py").write_text(textwrap.dedent(SCRIPT))
    record = peakmark("record", "--stacks", "-o", folder / "p.profile", "--", sys.executable, folder / "program.py", **environment())
    assert record.returncode == 0, record.stderr
    show = peakmark("show", folder / "p.profile", "--html", folder / "page.html")
    assert show.returncode == 0, show.stderr
    return folder / "page.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Page(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture(params=["light", "dark"])
def page(browser, profile_page, request):
    """In both themes: the keys and the figures must not depend on it."""
    browser.set_view(1200, 900, dark=request.param == "dark")
    browser.errors.clear()
    browser.open(profile_page)
    browser.wait_for("document.querySelectorAll('figure svg path').length >= 4")
    browser.theme = request.param
    yield browser
    assert browser.errors == []


def text(page, selector):
    return page.evaluate(f"document.querySelector({selector!r}).textContent")


# The first figure is of all processes together, the second the first process's timeline, the third its flame graph.
TIMELINE = "document.querySelectorAll('figure')[1]"
FLAME = "document.querySelector('.flame')"


def timeline_says(page):
    caption, value_text = page.evaluate(f"[{TIMELINE}.querySelector('figcaption').textContent, {TIMELINE}.querySelector('svg').getAttribute('aria-valuetext')]")
    assert caption == value_text
    return value_text


def flame_says(page):
    return page.evaluate(f"{FLAME}.parentElement.querySelector('figcaption').textContent")


def focused(page):
    return page.evaluate("document.activeElement.textContent")


def test_the_figures_are_what_the_program_allocated(page):
    tiles = dict(page.evaluate("[...document.querySelectorAll('.tiles div')].map((one) => [...one.children].map((c) => c.firstChild.textContent))"))
    assert tiles == {"Peak": "7 MiB", "Live at the end": "1 MiB", "Allocations": "3", "Failed": "0"}
    # A name is text and never HTML.
    assert page.evaluate("document.querySelectorAll('main b').length") == 0
    rows = page.evaluate("[...document.querySelectorAll('[aria-label=\"Live at the peak\"] tbody tr')].map((one) => one.cells[0].textContent)")
    assert rows == ["work", "<b>late</b>", "data"]


def test_tables_are_sorted_by_their_columns(page):
    table = "document.querySelector('[aria-label=\"Live at the peak\"]')"

    def click(column):
        return page.evaluate(f"(() => {{ const header = {table}.querySelectorAll('th')[{column}]; header.querySelector('button').click();"
                             f" return [header.getAttribute('aria-sort'), [...{table}.querySelectorAll('tbody tr')].map((row) => row.cells[0].textContent)]; }})()")

    assert click(0) == ["ascending", ["<b>late</b>", "data", "work"]]
    assert click(1) == ["descending", ["work", "<b>late</b>", "data"]], "4, 2 and 1 MiB, not by their text"
    assert click(1) == ["ascending", ["data", "<b>late</b>", "work"]]
    assert click(1) == [None, ["work", "<b>late</b>", "data"]]
    assert page.evaluate(f"{table}.querySelectorAll('[aria-sort]').length") == 0


def test_phases_are_in_order_of_their_peaks(page):
    rows = page.evaluate("[...document.querySelectorAll('[aria-label=Phases] tbody tr')].map((row) => row.cells[0].textContent)")
    assert rows == ["solve", "prepare", "(no phase)"]
    assert page.evaluate("cutInMiddle('python reconstruct.py --slices 20', 15)") == "python …ices 20"


def test_the_timeline_is_walked_by_keys(page):
    page.evaluate(f"{TIMELINE}.querySelector('svg').focus()")
    page.press("End")
    assert "1 MiB (1,048,576 B) live" in timeline_says(page)
    page.press("p", "KeyP")
    assert timeline_says(page).endswith(f"7 MiB ({7 * MIB:,} B) live, the peak, phase solve")
    page.press("ArrowLeft")
    assert f"5 MiB ({5 * MIB:,} B) live" in timeline_says(page)
    page.press("ArrowRight")
    page.press("ArrowRight")
    assert f"3 MiB ({3 * MIB:,} B) live" in timeline_says(page)
    page.press("Home")
    assert timeline_says(page).startswith("0.0 µs: 0 B (0 B) live")
    bands = page.evaluate(f"[...{TIMELINE}.querySelectorAll('rect title')].map((one) => one.textContent)")
    assert bands == ["prepare", "solve"]


def test_the_timeline_follows_the_pointer(page):
    box = page.evaluate(f"(() => {{ {TIMELINE}.scrollIntoView(); const b = {TIMELINE}.querySelector('svg').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()")
    left, top, width, height = box
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=left + width - 2, y=top + height / 2)
    assert "1 MiB (1,048,576 B) live" in timeline_says(page)
    # The peak's circle is where the cursor finds the peak.
    x, y = page.evaluate(f"(() => {{ const c = {TIMELINE}.querySelector('circle').getBoundingClientRect(); return [c.left + c.width / 2, c.top + c.height / 2]; }})()")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + 0.05, y=y)
    assert page.evaluate(f"Math.abs({TIMELINE}.querySelector('line[stroke-dasharray]').getBoundingClientRect().x - {x}) < 8")


def test_the_flame_graph_is_walked_by_keys(page):
    page.evaluate(f"{FLAME}.querySelector('button[tabindex=\"0\"]').focus()")
    assert flame_says(page).startswith(focused(page)) and "100.0 % of the peak" in flame_says(page)
    for _ in range(60):  # down the largest stack, to its end
        before = focused(page)
        page.press("ArrowDown")
        if focused(page) == before:
            break
    assert focused(page) == "work" and f"4 MiB ({4 * MIB:,} B), 57.1 % of the peak, 1 allocation" in flame_says(page)
    page.press("ArrowUp")
    while not focused(page).startswith("inner"):
        page.press("ArrowUp")
    assert "57.1 % of the peak" in flame_says(page)
    page.press("ArrowUp")
    assert focused(page).startswith("outer")
    width = "document.activeElement.offsetWidth / document.querySelector('.flame').offsetWidth"
    assert 0.55 < page.evaluate(width) < 0.6
    page.press("Enter")
    assert focused(page).startswith("outer") and page.evaluate(width) == pytest.approx(1, abs=0.01)
    page.press("Escape")
    assert page.evaluate(width) == pytest.approx(1, abs=0.01) and "100.0 % of the peak" in flame_says(page)


def test_siblings_of_the_flame_graph_are_walked_sideways(page):
    # Each line of the program that led to an allocation is a sibling, the largest first.
    page.evaluate(f"[...{FLAME}.querySelectorAll('button')].find((one) => one.textContent.startsWith('outer')).focus()")
    page.press("ArrowUp")
    line = focused(page)
    for share in ("57.1 %", "28.6 %", "14.3 %"):
        assert f", {share} of the peak" in flame_says(page)
        last = focused(page)
        page.press("ArrowRight")
    assert focused(page) == last != line
    page.press("ArrowLeft")
    page.press("ArrowLeft")
    assert focused(page) == line


def test_another_process_is_chosen(page):
    options = page.evaluate("[...document.querySelectorAll('select option')].map((one) => one.textContent)")
    assert len(options) == 2 and options[0].endswith("7 MiB") and options[1].endswith("3 MiB")
    page.evaluate("(() => { const one = document.querySelector('select'); one.focus(); one.value = '1'; one.dispatchEvent(new Event('change')); })()")
    page.wait_for("document.querySelectorAll('figure svg path').length >= 4")
    assert text(page, ".tiles dd").startswith("3 MiB")
    assert page.evaluate("document.activeElement.tagName") == "SELECT"


def test_the_theme_is_that_of_the_system_and_texts_are_readable(page):
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == {"light": "rgb(251, 251, 250)", "dark": "rgb(21, 23, 26)"}[page.theme]
    for colour, ground in {"--ink": "--card", "--quiet": "--page", "--accent": "--card", "--warn": "--warn-fill"}.items():
        assert page.contrast(f"var({colour})", f"var({ground})") >= 4.5, (colour, ground)
    for group, count in (("p", 6), ("f", 4)):
        for i in range(count):
            assert page.contrast("var(--ink)", f"var(--{group}{i})") >= 4.5, f"--{group}{i}"


@pytest.mark.parametrize("width", [390, 1200])
def test_nothing_is_wider_than_the_window(page, width):
    page.set_view(width, 844, dark=page.theme == "dark")
    page.wait_for(f"document.querySelector('figure svg').viewBox.baseVal.width <= {width}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_whatever_can_be_pressed_has_a_name(page):
    assert page.unnamed() == []


def test_a_program_that_allocated_nothing_has_a_page(browser, tmp_path):
    record = peakmark(
        "record", "-o", tmp_path / "p.profile", "--", sys.executable, "-c", "from small_opencl import Context; Context()", **environment()
    )
    assert record.returncode == 0, record.stderr
    assert peakmark("show", tmp_path / "p.profile", "--html", tmp_path / "page.html").returncode == 0
    browser.errors.clear()
    browser.open(tmp_path / "page.html")
    assert "Nothing was recorded." in browser.evaluate("document.querySelector('figcaption').textContent")
    assert browser.errors == []


LEAK = """
    import peakmark
    from small_opencl import Context

    context = Context()
    kept = []
    peakmark.repeat_call(lambda: kept.append(context.buffer(4096)))
"""


def test_repeated_phases_and_kinds_are_tables(browser, tmp_path):
    (tmp_path / "program.py").write_text(textwrap.dedent(LEAK))
    program = (sys.executable, tmp_path / "program.py")
    record = peakmark("record", "--repeat-call", "5", "-o", tmp_path / "p", "--", *program, **environment())
    assert record.returncode == 1, record.stderr
    assert peakmark("show", tmp_path / "p", "--html", tmp_path / "page.html").returncode == 0
    browser.errors.clear()
    browser.set_view(1200, 900, dark=False)
    browser.open(tmp_path / "page.html")
    browser.wait_for("document.querySelectorAll('table').length >= 5")

    def cells(label):
        rows = f"document.querySelectorAll('[aria-label=\"{label}\"] tbody tr')"
        return browser.evaluate(f"[...{rows}].map((row) => [...row.cells].map((one) => one.textContent))")

    assert cells("Repeated phases") == [["call", "5", "4 KiB", "20 KiB", "20 KiB", "leak: 4 KiB (4096 B) each time"]]
    (left,) = cells("Left behind by repetitions")
    assert left[:7] == ["leak", "(unnamed)", "buffer", "call", "4 KiB", "16 KiB (16,384 B)", "4 of 4"]
    assert cells("Kinds of memory") == [["buffer", "20 KiB", "20 KiB", "20 KiB", "20 KiB", "5", ""]]
    assert browser.errors == []
