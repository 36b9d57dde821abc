"""Tests `report RUN`: the page of one run. The verdicts are those of a fake peakmark."""

import base64
import json
import re

import pytest
from peakmark_reports.__main__ import main
from sample_history import HOSTILE, shapes
from sample_verdicts import check_text, compare_text, figure, judged, write_fake
from test_report_page import Parsed

CRASHED, OUTSIDE = "padding/old/opencl/mode:edge/ny:32/nx:32", "padding/new/opencl/mode:edge/ny:64/nx:64"
FAILED = [
    judged(CRASHED, "failed_measurement", reason="crashed", advice=["crashed: signal SIGSEGV"]),
    judged(OUTSIDE, "fail", reason="window_bytes", estimate_ratio=1.25, advice=["1.250 is above the window", "and a leak"]),
    judged("padding/missing/opencl", "failed_measurement", reason="missing", advice=["missing from the run"]),
]  # fmt: skip


def written(folder):
    return Parsed((folder / "report" / "index.html").read_text(encoding="utf-8"))


def rows(page):
    data = json.loads(page.data)
    return {row[0]: dict(zip(data["columns"], row)) for row in data["rows"]}


def assert_order(page, texts):
    """The texts are on the page in this order, below its title."""
    place = page.index("Skip to all cases")
    for text in texts:
        assert text in page[place:], text
        place = page.index(text, place) + len(text)


def test_the_verdict_comes_first_then_the_failures(tmp_path, capsys):
    cases = [*FAILED, *[judged(one["case"]) for one in shapes()[1:4]]]
    options = write_fake(tmp_path, shapes(), check_text(cases, "6 cases: 3 pass, 1 fail", 3), warnings=["debug build"])
    assert main(options) == 0
    assert capsys.readouterr().err == "6 cases: 3 pass, 1 fail\n"
    page = written(tmp_path)
    order = [
        "6 cases: 3 pass, 1 fail", "peakmark check", "exits with 3: a measurement failed.", "debug build", "Failures", "crashed: signal SIGSEGV",
        "1.250 is above the window", "and a leak", "missing from the run", "Memory and time against shape", "All cases", "Environment", "a device",
    ]  # fmt: skip
    assert_order(page.text, order)
    assert {"class": "bad"} in page.of("h1")
    found = rows(page)
    assert list(found) == [one["case"] for one in cases]
    assert (found[OUTSIDE]["judgement"], found[OUTSIDE]["ratio"]) == ("fail", 1.25)
    assert found["padding/missing/opencl"]["peak"] is None
    measured = next(one for one in shapes() if one["case"] == OUTSIDE)
    assert found[OUTSIDE]["peak"] == measured["requested_peak_bytes"]
    assert found[OUTSIDE]["time"] == measured["gpu_time_ns"]["median"]


def test_the_page_is_one_file(tmp_path):
    options = write_fake(tmp_path, shapes(), check_text([judged(one["case"]) for one in shapes()]))
    assert main(options) == 0
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["index.html"]
    page = written(tmp_path)
    pictures = [one["src"] for one in page.of("img")]
    assert len(pictures) == 2
    for picture in pictures:
        kind, content = picture.split(",", 1)
        assert kind == "data:image/svg+xml;base64" and b"<svg" in base64.b64decode(content)
    for tag, attributes in page.elements:
        for name in ("src", "href", "action"):
            assert re.match(r"#|data:|$", attributes.get(name) or ""), (tag, attributes)
    # The same input gives the same bytes, even over an earlier report.
    before = (tmp_path / "report" / "index.html").read_bytes()
    assert main(options) == 0
    assert (tmp_path / "report" / "index.html").read_bytes() == before


def test_what_differs_from_another_run_comes_before_the_failures(tmp_path, capsys):
    new = {"text": "added: flags (buffer), 4096 B"}
    figures = [
        figure("padding/a", "same", 2048, 2048, "same"),
        figure("padding/b", "improved", 4096, 2048, "shrank", unsteady=True, allowed=False),
        figure("padding/c", "regressed", 2048, 3072, "grew", allocations=[new]),
        figure("padding/c", "regressed", 1e6, 2e6, "suspicious", metric="gpu_time_ns", advice="measure both sides interleaved"),
        figure("padding/d", "regressed", 1024, 4096, "grew"),
        figure("padding/e", "regressed", "ok", "crashed", "lost", metric="outcome", message="signal SIGSEGV"),
    ]
    cases = [judged("padding/e", "failed_measurement", advice=["crashed"]), *[judged(f"padding/{name}") for name in "abcd"]]
    compared = compare_text(figures, "3 of 5 cases regressed", 3, only_base=["padding/gone"], notes=["base.json is incomplete"])
    options = write_fake(tmp_path, shapes(), check_text(cases, "5 cases: 4 pass", 3), compared)
    assert main([*options, "--against", "base.json", "--allow-growth", "1%"]) == 0
    assert capsys.readouterr().err == "3 of 5 cases regressed; 5 cases: 4 pass\n"
    assert f"compare --json --allow-growth=1% -- base.json {tmp_path}/run.json" in (tmp_path / "asked").read_text().splitlines()
    page = written(tmp_path)
    shown = [
        "3 of 5 cases regressed", "Compared with base.json, commit abababababab, 2026-11-27.", "base.json is incomplete", "padding/e",
        "outcome ok -> crashed", "signal SIGSEGV", "padding/d", "peak 1024 -> 4096, grew", "padding/c",
        "peak 2048 -> 3072, grew", "time 1000000.0 -> 2000000.0, suspicious", "added: flags (buffer), 4096 B",
        "measure both sides interleaved", "padding/b", "peak 4096 -> 2048, shrank",
        "peak: the two memory passes of one run differ as well.", "1 only in the other run", "padding/gone",
    ]  # fmt: skip
    assert_order(page.text, [*shown, "Failures"])
    found = rows(page)
    assert [found[f"padding/{name}"]["difference"] for name in "abcde"] == ["same", "improved", "regressed", "regressed", "regressed"]


def test_texts_of_the_run_are_escaped(tmp_path):
    cases = [judged(HOSTILE, "fail", reason=HOSTILE, advice=[HOSTILE])]
    compared = compare_text([figure(HOSTILE, "regressed", HOSTILE, HOSTILE, "lost", metric="outcome", message=HOSTILE)], HOSTILE, notes=[HOSTILE])
    options = write_fake(
        tmp_path, shapes(), check_text(cases, HOSTILE, 1), compared, warnings=[HOSTILE], device=HOSTILE, environment={HOSTILE: HOSTILE}
    )
    assert main([*options, "--against", HOSTILE, "--title", HOSTILE]) == 0
    page = written(tmp_path)
    assert page.text.count(HOSTILE) > 10
    assert len(page.of("script")) == 2
    assert not [one for one in page.of("img") if one.get("src") == "x"]


def test_a_part_of_a_suite_is_named(tmp_path):
    shard = {"index": 1, "count": 4, "other_cases": ["padding/other/opencl"]}
    assert main(write_fake(tmp_path, shapes(), check_text([judged(one["case"]) for one in shapes()]), shard=shard, filter="ny:1")) == 0
    assert_order(written(tmp_path).text, ["Environment", "filter", "ny:1", "shard", "1 of 4"])


def test_cases_of_a_variant_with_one_cause_are_one_entry(tmp_path):
    def grown(ny, peak, time):
        name = f"blur/rows/opencl/ny:{ny}"
        moved = [{"text": f"grew: rows (buffer), {ny} -> {2 * ny} B"}]
        return [
            figure(name, "regressed", 1024, peak, "grew", allocations=moved),
            figure(name, "regressed", 1e6, time, "undecided", metric="gpu_time_ns", advice="measure both sides interleaved"),
        ]

    figures = [*grown(8, 1100, 9e6), *grown(16, 2048, 1e6), *grown(32, 1200, 2e6), figure("blur/other/opencl/ny:8", "regressed", 10, 11, "grew")]
    cases = [judged(f"blur/rows/opencl/ny:{ny}", "fail", reason="window_bytes", advice=[f"{ny} bytes short"]) for ny in (8, 16, 32)]
    options = write_fake(tmp_path, [], check_text(cases, exit_code=1), compare_text(figures, "4 of 4 cases regressed", 1))
    assert main([*options, "--against", "base.json"]) == 0
    page = written(tmp_path).text
    assert_order(page, ["blur/rows/opencl/ny:16", "2 more cases of this kind", "blur/rows/opencl/ny:32", "blur/rows/opencl/ny:8", "blur/other/opencl/ny:8"])
    assert_order(page, ["Failures", "8 bytes short", "2 more cases of this kind", "16 bytes short"])
    assert page.count("measure both sides interleaved") == 1


def test_many_failures_are_counted(tmp_path):
    cases = [judged(f"padding/{i}", "fail", advice=[f"advice {i}."]) for i in range(200)]
    assert main(write_fake(tmp_path, [], check_text(cases, exit_code=1))) == 0
    page = written(tmp_path)
    assert "advice 59." in page.text and "advice 60." not in page.text
    assert "140 more: none is worse than these" in page.text
    assert len(rows(page)) == 200


def test_warnings_of_one_reason_are_one_line(tmp_path):
    cases = [judged(f"padding/{i}", "counted", reason="no estimator", advice=[f"no estimator: advice {i}"]) for i in range(3)]
    cases += [judged("padding/b", "counted", reason="peaks differ", advice=["peaks differ: by 4 B"]), judged("padding/c", "counted", reason="granularity")]
    assert main(write_fake(tmp_path, [], check_text(cases))) == 0
    page = written(tmp_path)
    lines = ["3 cases, the first: padding/0: no estimator: advice 0", "1 case, the first: padding/b: peaks differ: by 4 B"]
    assert_order(page.text, ["Warnings", *lines, "All cases"])
    assert "advice 1" not in page.text and "padding/c" not in page.text


def test_a_run_that_measured_nothing_has_a_page(tmp_path):
    cases = [judged("padding/a", "skipped", reason="unsupported", advice=["no device"])]
    assert main(write_fake(tmp_path, [], check_text(cases, "1 case: 0 pass; nothing was measured", 4))) == 0
    page = written(tmp_path)
    assert "exits with 4: nothing was measured." in page.text
    assert "Memory and time" not in page.text and "Failures" not in page.text
    assert {"class": "warn"} in page.of("h1")


@pytest.mark.parametrize(
    ("check", "compare", "message"),
    [
        ("{", "", "check {run}: invalid or truncated JSON"),
        ("[]", "", "not the output of `peakmark check --json`: TypeError"),
        ('{"version": 2, "exit_code": 0}', "", "unsupported version of its JSON: 2, not 1; use the peakmark that wrote it"),
        ('{"version": 1, "exit_code": 0}', "", "not the output of `peakmark check --json`: KeyError"),
        (check_text([]), '{"version": 1, "exit_code": 0}', "not the output of `peakmark compare --json`: KeyError"),
    ],
)
def test_wrong_answers_of_commands_are_errors(tmp_path, capsys, check, compare, message):
    options = write_fake(tmp_path, [], check_text([]), compare)
    (tmp_path / "check.txt").write_text(check)
    assert main([*options, *(["--against", "b.json"] if compare else [])]) == 2
    assert message.format(run=tmp_path / "run.json") in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_a_run_that_cannot_be_read_is_an_error(tmp_path, capsys):
    options = write_fake(tmp_path, [], check_text([]))
    (tmp_path / "run.json").write_text("{")
    assert main(options) == 2
    assert "run.json: not JSON, or cut short" in capsys.readouterr().err
    (tmp_path / "peakmark").write_text("#!/bin/sh\necho 'peakmark: run.json: damaged' >&2; exit 2\n")
    assert main(options) == 2
    assert capsys.readouterr().err == "peakmark_reports: run.json: damaged\n"


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path, capsys):
    options = write_fake(tmp_path, [], check_text([]))
    (tmp_path / "report").write_text("a file")
    assert main(options) == 2
    assert "report: a file, not a folder; name an empty or a new folder" in capsys.readouterr().err
    (tmp_path / "report").unlink()
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "notes.txt").touch()
    assert main(options) == 2
    assert "contains other files than a report's" in capsys.readouterr().err
