import json
import re
from html.parser import HTMLParser
from pathlib import Path

import peakmark_reports
import pytest
from peakmark_reports.__main__ import main
from peakmark_reports.run_file import estimator_rows
from peakmark_reports.sparkline import sparkline
from peakmark_reports.page import render_page
from peakmark_reports.page_data import LETTERS, device_data, entries, packed, packed_series
from peakmark_reports.report import query_peakmark, parse_runs
from sample_history import (
    HOSTILE, PEAK, assessed, case, change, history_run, run_text, series_text, shapes, trends_text, write_files,
)
from sample_run import observation


class Parsed(HTMLParser):
    """Parses elements like a browser, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.text = ""
        self.data = ""
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._inside.append(tag)

    def handle_endtag(self, tag):
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data):
        if self._inside[-1:] == ["script"]:
            if self.elements[-1][1].get("id") == "data":
                self.data += data
        elif self._inside[-1:] != ["style"]:
            self.text += data

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def rendered(*arguments, **more):
    assessment = assessed(*arguments, **more)
    return Parsed(render_page(entries([assessment]), assessment, [], [], "a title"))


def read_data(report, name):
    """Returns the content of a file of data/."""
    text = (report / "data" / f"{name}.js").read_text(encoding="ascii")
    return json.loads(re.fullmatch(rf'peakmarkData\("{name}",(.*)\);\n', text).group(1))


def rows(report, device=0):
    """Returns the rows of the list of cases by column."""
    columns = json.loads(Parsed((report / "index.html").read_text(encoding="utf-8")).data)["columns"]
    return [dict(zip(columns, row)) for row in read_data(report, f"device-{device}")["rows"]]


def unpacked(series):
    """Decodes like the script of the page."""
    values = []
    for one in series.get("values", []):
        values += [one[1]] * one[0] if isinstance(one, list) else [one]
    letters = series.get("letters", "")
    for first, second in zip(letters[::2], letters[1::2]):
        number = 64 * LETTERS.index(first) + LETTERS.index(second)
        values.append(series["least"] - 1 + number if number else None)
    return [None if value is None else value * series["unit"] for value in values]


def test_the_age_of_the_newest_run_is_on_the_page():
    text = "newest run of nightly: 2026-11-24, 2 days ago, commit 1a2b3c4d5e6f"
    page = rendered([case("padding/a", 30)], newest_runs=[{"device": "GPU", "text": text, "run": "r", "is_current": True}])
    assert "Newest run of nightly: 2026-11-24, 2 days ago, commit 1a2b3c4d5e6f." in page.text
    many = rendered([case("padding/a", 30)], newest_runs=[{"device": "GPU", "text": f"newest run of {i}", "run": "r", "is_current": True} for i in range(10)])
    assert "Newest run of 7." in many.text
    assert "Newest run of 8." not in many.text
    assert "The newest runs of 2 more suites are in the output of `peakmark trends`." in many.text


def test_the_verdict_comes_first():
    page = rendered([case("padding/a", 30)], [change("padding/a", 20)])
    heading = page.text.index("1 case needs attention", page.text.index("Skip to all cases"))
    assert heading < page.text.index("What changed") < page.text.index("All cases", heading + 200)
    assert "added: flags (buffer), 4096 B" in page.text
    assert f"peak {PEAK} → {PEAK + 4096}, since 2026-01-21" in page.text
    (spark,) = [one for one in page.of("svg")]
    assert spark["role"] == "img" and spark["aria-label"].startswith("peak over 30 runs: from 6.75 MiB to 6.75 MiB")


def test_a_sparkline_has_a_scale():
    drawn = str(sparkline([1e6, 1e6, None, 1.00004e6], "gpu_time_ns", 3, "--bad"))
    assert ">1.00004 ms</text>" in drawn and ">1 ms</text>" in drawn and "from 1 ms to 1.00004 ms" in drawn
    assert str(sparkline([5, 5], "setup_bytes", None, "--bad")).count("<text") == 1


def test_everything_is_escaped():
    hostile = case(f"padding/{HOSTILE}", 30, variant=f"padding/{HOSTILE}", axes={HOSTILE: HOSTILE})
    hostile["outcomes"][-1] = HOSTILE
    runs = [history_run(i, commit=HOSTILE, driver=HOSTILE, environment={HOSTILE: HOSTILE}) for i in range(30)]
    changes = [change(f"padding/{HOSTILE}", 20, cause=[HOSTILE])]
    more = {
        "accepted": [{"case": HOSTILE, "metric": HOSTILE, "who": HOSTILE, "when": HOSTILE, "reason": HOSTILE}],
        "environment_changes": [
            {"device": "a device", "run": history_run(20)["id"], "date": HOSTILE, "what": HOSTILE, "before": HOSTILE, "after": HOSTILE}
        ],
    }
    hostile_page, tame_page = (
        rendered([one], changes_, runs=runs_, **more_)
        for one, changes_, runs_, more_ in (
            (hostile, changes, runs, more),
            (
                json.loads(json.dumps(hostile).replace(json.dumps(HOSTILE)[1:-1], "tame")),
                json.loads(json.dumps(changes).replace(json.dumps(HOSTILE)[1:-1], "tame")),
                json.loads(json.dumps(runs).replace(json.dumps(HOSTILE)[1:-1], "tame")),
                json.loads(json.dumps(more).replace(json.dumps(HOSTILE)[1:-1], "tame")),
            ),
        )
    )
    # Texts add no elements and no attributes.
    assert [(tag, sorted(attributes)) for tag, attributes in hostile_page.elements] == [
        (tag, sorted(attributes)) for tag, attributes in tame_page.elements
    ]
    assert HOSTILE in hostile_page.text
    (entry,) = entries([assessed([hostile], changes, runs=runs, **more)])
    assert device_data(entry)["rows"][0][0] == f"padding/{HOSTILE}"


@pytest.mark.parametrize("run_count", [0, 1, 2, 30])
def test_histories_of_any_length_give_a_page(tmp_path, run_count, capsys):
    cases = [case("padding/a", run_count)] if run_count else []
    young = [{"case": "padding/a", "device": "a device", "runs": run_count, "runs_needed": 20}] if 0 < run_count < 20 else []
    trends = trends_text(not_enough_data=young)
    series = series_text([history_run(i) for i in range(run_count)], cases)
    assert main(["report", "-o", str(tmp_path / "report"), *write_files(tmp_path, series, trends)]) == 0
    page = Parsed((tmp_path / "report" / "index.html").read_text(encoding="utf-8"))
    words = {
        0: "No runs yet",
        1: "nothing was compared",
        2: "of 20 runs needed before times are judged",
        30: "Nothing to do",
    }
    assert words[run_count] in page.text
    devices = json.loads(page.data)["devices"]
    assert [one["cases"] for one in devices] == ([len(cases)] if run_count else [])
    assert not devices or len(rows(tmp_path / "report")) == len(cases)
    assert ("No runs yet" if run_count == 0 else "Nothing to do") in capsys.readouterr().err


def test_an_empty_file_is_an_empty_history(tmp_path):
    assert main(["report", "-o", str(tmp_path / "report"), *write_files(tmp_path, "", trends_text())]) == 0


def test_long_names_are_not_cut():
    name = "padding/" + "a" * 192
    page = rendered([case(name, 30)], [change(name, 20)])
    assert name in page.text
    assert {"class": "case", "href": f"#case={name.replace('/', '%2F')}&device=a+device+%28opencl%29"} in page.of("a")


def test_without_estimators_there_is_no_section():
    page = rendered([case("padding/a", 30)])
    assert "Estimators" not in page.text and "Against shape" not in page.text


def test_estimators_and_figures_are_on_the_page(tmp_path):
    series = series_text([history_run(i) for i in range(3)], [case(one["case"], 3) for one in shapes()])
    observations = shapes()
    for one in observations:
        one["estimate"]["estimator"] = "formula"
    observations[0]["estimate"]["bytes_estimated"] *= 2
    options = write_files(tmp_path, series, trends_text(), run_text(observations))
    assert main(["report", "-o", str(tmp_path / "report"), *options]) == 0
    page = Parsed((tmp_path / "report" / "index.html").read_text(encoding="utf-8"))
    for address in [one["src"] for one in page.of("img")] + [one["href"] for one in page.of("a") if "download" in one]:
        assert (tmp_path / "report" / address).stat().st_size > 0
    assert len(page.of("img")) == 3
    assert all(len(one["alt"]) > 40 for one in page.of("img"))
    assert "1 outside" in page.text and "0.500 to 1.000" in page.text
    # The same input gives the same bytes, even over an earlier report.
    files = {path: path.read_bytes() for path in (tmp_path / "report").rglob("*") if path.is_file()}
    (tmp_path / "report" / "data" / "cases-9.js").write_text("left over")
    assert main(["report", "-o", str(tmp_path / "report"), *options]) == 0
    assert files == {path: path.read_bytes() for path in (tmp_path / "report").rglob("*") if path.is_file()}


def test_suites_of_one_device_are_in_one_figure(tmp_path):
    runs = []
    for suite, shapes_of_it in (("nightly", shapes()), ("weekly", [observation("padding/old", "wrap", ny) for ny in (32, 64, 128)])):
        run = json.loads(run_text(shapes_of_it))
        run["context"]["peakmark"]["suite"] = suite
        for row in run["benchmarks"][1:]:
            row["peakmark"]["estimate"]["estimator"] = "formula"
        runs.append(run)
    options = write_files(tmp_path, series_text([history_run(0)], [case("padding/a", 1)]), trends_text(), json.dumps(runs))
    assert main(["report", "-o", str(tmp_path / "report"), *options]) == 0
    page = Parsed((tmp_path / "report" / "index.html").read_text(encoding="utf-8"))
    assert {one["src"] for one in page.of("img")} >= {"figures/padding-nightly.svg", "figures/padding-weekly.svg"}
    assert "padding (weekly): memory and time against shape" in page.text
    rows = estimator_rows(parse_runs(json.dumps(runs), "r"))
    assert [(row.variant, row.cases) for row in rows] == [("padding/new", 3), ("padding/old", 6)]


def test_an_old_suite_is_not_drawn(tmp_path):
    program = tmp_path / "peakmark"
    old, new = json.loads(run_text(shapes())), json.loads(run_text(shapes()))
    old["context"]["peakmark"] |= {"id": history_run(5)["id"], "suite": "old"}
    new["context"]["peakmark"] |= {"id": history_run(49)["id"], "suite": "new"}
    trends = trends_text(newest_runs=[{"run": history_run(i)["id"], "is_current": i == 49} for i in (5, 49)])
    write_files(tmp_path, series_text([history_run(i) for i in range(50)], [case("padding/a", 50)]), trends, json.dumps([old, new]))
    program.write_text(
        f"""#!/bin/sh
case "$*" in *series*) cat {tmp_path}/series.jsonl ;; *trends*) cat {tmp_path}/trends.json ;; *) cat {tmp_path}/run.json ;; esac
"""
    )
    program.chmod(0o700)
    assert [run.suite for run in query_peakmark(str(program), None).runs] == ["new"]


def test_names_in_figures_are_not_parsed_as_formulas(tmp_path):
    observations = shapes()
    for one in observations:
        one["at_peak"][0]["name"] = HOSTILE + "$\\frac{$"
        one["estimate"]["estimator"] = "$x_{$"
    run = json.loads(run_text(observations))
    run["context"]["peakmark"]["device"] = "$\\alpha_{$ " + HOSTILE
    options = write_files(tmp_path, series_text([history_run(0)], [case("padding/a", 1)]), trends_text(), json.dumps(run))
    assert main(["report", "-o", str(tmp_path / "report"), *options]) == 0
    drawn = (tmp_path / "report" / "figures" / "padding.svg").read_text(encoding="utf-8")
    assert "<script" not in drawn and "$\\alpha_{$" in drawn


def test_simulated_histories_say_so():
    runs = [history_run(i, environment={"simulated": "ci/demo"}) for i in range(2)]
    assert "Simulated." in rendered([case("padding/a", 2)], runs=runs).text
    assert "Simulated." not in rendered([case("padding/a", 2)], run_count=2).text


def test_a_page_needs_no_other_files_or_servers():
    page = rendered([case("padding/a", 30)], [change("padding/a", 20)])
    for tag, attributes in page.elements:
        for name in ("src", "href", "action", "data"):
            assert not re.match(r"(https?:)?//", attributes.get(name) or ""), (tag, attributes)


@pytest.mark.parametrize("metric", ["gpu_time_ns", "estimate_ratio", "requested_peak_bytes", "a_metric"])
@pytest.mark.parametrize("scale", [1e-9, 3e-4, 0.987, 123.4, 5.657e5, 2e12])
def test_series_have_the_significant_digits(metric, scale):
    scale = round(scale * 1e6) if metric.endswith("_bytes") else scale
    values = [None if i == 3 else scale * (1 + i) if metric.endswith("_bytes") else scale * (1 + 0.01 * i) for i in range(9)]
    series = packed_series(metric, values)
    decoded = unpacked(json.loads(json.dumps(series)))
    precision = {"gpu_time_ns": 1e-3, "requested_peak_bytes": 0}.get(metric, 1e-5)
    for value, expected in zip(decoded, values):
        assert (value is None) == (expected is None)
        assert value is None or value == pytest.approx(expected, rel=precision, abs=0)


@pytest.mark.parametrize(("most", "is_lettered"), [(5094, True), (5095, False)])
def test_distant_times_are_encoded_in_digits(most, is_lettered):
    values = [1000, None, most, 1001, 1002] * 9
    series = packed_series("gpu_time_ns", values)
    assert ("letters" in series, unpacked(series)) == (is_lettered, values)


def test_equal_values_are_run_length_encoded():
    assert packed([1, 1, 1, 1, None, None, 2]) == [[4, 1], None, None, 2]
    assert packed([]) == []


def test_a_folder_with_other_files_is_not_changed(tmp_path, capsys):
    options = write_files(tmp_path, "", trends_text())
    assert main(["report", "-o", str(tmp_path), *options]) == 2
    assert "contains other files than a report's" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["series.jsonl", "trends.json"]


def test_wrong_usage_is_an_error_with_what_to_do(tmp_path, capsys):
    options = write_files(tmp_path, "", trends_text())
    assert main(["report", "-o", str(tmp_path / "r"), "--series", str(tmp_path / "none")]) == 2
    assert main(["report", "-o", str(tmp_path / "r"), *options[2:]]) == 2
    assert "need --series" in capsys.readouterr().err
    assert main(["report", "-o", str(tmp_path / "r"), *options, "--history", "x"]) == 2
    assert "use only one source" in capsys.readouterr().err
    assert main(["report", "--peakmark", str(tmp_path / "nothing"), "-o", str(tmp_path / "r")]) == 2
    assert "cannot be started" in capsys.readouterr().err


@pytest.mark.parametrize("code", [1, 4])
def test_peakmark_is_run_for_all_three(code, tmp_path, capsys):
    """Uses a script that prints like peakmark; its `trends` exits with 1 (regression) or 4 (not compared), which is no error."""
    write_files(tmp_path, series_text([history_run(0)], [case("padding/a", 1)]), trends_text(), run_text(shapes()))
    program = tmp_path / "peakmark"
    program.write_text(
        f"""#!/bin/sh
echo "$*" >>{tmp_path}/asked
case "$* of $PEAKMARK_HISTORY" in
  "history export --format series --max-runs=400 of H") cat {tmp_path}/series.jsonl ;;
  "history export --run latest --format run of H") cat {tmp_path}/run.json ;;
  "trends --json of H") cat {tmp_path}/trends.json; exit {code} ;;
  *) echo "peakmark: H2: no such history" >&2; exit 2 ;;
esac
"""
    )
    program.chmod(0o700)
    assert main(["report", "--peakmark", str(program), "--history", "H", "-o", str(tmp_path / "report")]) == 0
    asked = (tmp_path / "asked").read_text()
    assert len(asked.splitlines()) == 3
    assert "--allow-growth" not in asked
    assert "H" not in asked  # other users can read arguments, and a URL may contain a password
    assert main(["report", "--peakmark", str(program), "--history", "H2", "-o", str(tmp_path / "report")]) == 2
    assert "history export --format series --max-runs=400: H2: no such history" in capsys.readouterr().err


FORMULAS = {
    "variants": [
        {
            "variant": "padding/old", "words": {"mode": ["edge", "wrap"]}, "peak": "4 * ny * nx + 8 * Hp * Wp", "partial_peak": None,
            "allocations": [
                {"name": "image", "where": "pad.py:61", "phase": "inputs", "count": "1", "bytes": "4 * ny * nx"},
                {"name": "tile", "where": None, "phase": "call 1", "count": "2 * n", "bytes": "8 * Hp * Wp"},
            ],
        },
        {
            "variant": "fbp/whole", "words": {}, "peak": None, "partial_peak": "4 * n + tables",
            "allocations": [
                {"name": "tables", "where": None, "phase": "setup", "count": "1", "bytes": None, "recorded": [{"bytes": 512}]},
            ],
        },
        {"variant": "few/shapes", "words": {}, "peak": None, "partial_peak": None, "allocations": []},
    ]
}  # fmt: skip


def test_formulas_of_runs_with_sequences_are_on_the_page(tmp_path):
    """A fake peakmark explains the run that it exported."""
    observations = [one | {"allocation_sequence": {}} for one in shapes()]
    write_files(tmp_path, series_text([history_run(0)], [case("padding/a", 1)]), trends_text(), run_text(observations))
    (tmp_path / "formulas.json").write_text(json.dumps(FORMULAS))
    program = tmp_path / "peakmark"
    program.write_text(
        f"""#!/bin/sh
case "$*" in
  *series*) cat {tmp_path}/series.jsonl ;;
  *trends*) cat {tmp_path}/trends.json ;;
  explain*--json) cmp "$2" {tmp_path}/run.json || exit 3; cat {tmp_path}/formulas.json; exit 1 ;;
  *) cat {tmp_path}/run.json ;;
esac
"""
    )
    program.chmod(0o700)
    assert main(["report", "--peakmark", str(program), "-o", str(tmp_path / "report")]) == 0
    page = Parsed((tmp_path / "report" / "index.html").read_text(encoding="utf-8"))
    for text in (
        "4·ny·nx + 8·Hp·Wp", "mode=edge,wrap", "image (inputs, pad.py:61): 4·ny·nx", "tile (call 1): 2·n × 8·Hp·Wp",
        "4·n + tables", "not all bytes have a formula", "tables (setup): no formula, at most 512 B",
    ):
        assert text in page.text
    assert "few/shapes" not in page.text


def test_formulas_can_be_read_from_a_file(tmp_path):
    options = write_files(tmp_path, series_text([history_run(0)], [case("padding/a", 1)]), trends_text(), run_text(shapes()))
    (tmp_path / "formulas.json").write_text(json.dumps(FORMULAS))
    assert main(["report", "-o", str(tmp_path / "a"), *options]) == 0
    assert "Formulas" not in (tmp_path / "a" / "index.html").read_text(encoding="utf-8")
    assert main(["report", "-o", str(tmp_path / "b"), *options, "--formulas", str(tmp_path / "formulas.json")]) == 0
    assert "4·ny·nx + 8·Hp·Wp" in (tmp_path / "b" / "index.html").read_text(encoding="utf-8")


def test_headings_of_tables_are_words():
    """A rename of types once changed them."""
    sources = [path.read_text(encoding="utf-8") for path in (Path(peakmark_reports.__file__).parent / "templates").iterdir()]
    headings = [text for source in sources for text in re.findall(r'scope: "col"[^"]*"(\w+)"|scope="col"[^>]*>([\w /]+)<', source)]
    assert len(headings) > 20
    assert not [text for text in map("".join, headings) if re.search("[a-z][A-Z]", text)]


def test_allowed_growth_is_passed_to_trends(tmp_path):
    write_files(tmp_path, series_text([history_run(0)], [case("padding/a", 1)]), trends_text(), run_text(shapes()))
    program = tmp_path / "peakmark"
    program.write_text(
        f"""#!/bin/sh
echo "$*" >>{tmp_path}/asked
case "$*" in *series*) cat {tmp_path}/series.jsonl ;; *trends*) cat {tmp_path}/trends.json ;; *) cat {tmp_path}/run.json ;; esac
"""
    )
    program.chmod(0o700)
    assert main(["report", "--peakmark", str(program), "--allow-growth", "0.1%", "-o", str(tmp_path / "report")]) == 0
    assert "trends --json --allow-growth=0.1%" in (tmp_path / "asked").read_text().splitlines()
