"""Hand-made histories in the formats of `peakmark history export --format series` and `peakmark trends --json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from peakmark_reports.assessment import Assessment, assess
from peakmark_reports.common import quantity
from peakmark_reports.history_file import parse_history
from peakmark_reports.report import parse_runs
from peakmark_reports.trend_file import parse_trends
from sample_run import observation, run_document

DEVICE = "a device"
PEAK = 7_077_888
TIME = 565_700.0
HOSTILE = """</script><script>alert("x")</script>'"><img src=x onerror=alert(1)>&amp;{{7*7}}`|"""


def history_run(i: int, device: str = DEVICE, **more: Any) -> dict[str, Any]:
    return {
        "id": f"run{i}@{device}",
        "date": f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}T02:00:00Z",
        "commit": f"{i:040x}",
        "device": device,
        "backend": "opencl",
        "driver": "1.0",
        "suite": "",
        "branch": "",
        "environment": {},
    } | more


def case(name: str, run_count: int, device: str = DEVICE, **more: Any) -> dict[str, Any]:
    """Returns a case that was measured in every run and never changed."""
    return {
        "case": name,
        "variant": "/".join(name.split("/")[:2]),
        "backend": "opencl",
        "device": device,
        "axes": {"n": 20, "ny": 128},
        "series": {
            "requested_peak_bytes": [PEAK] * run_count,
            "gpu_time_ns": [TIME] * run_count,
            "setup_bytes": [0] * run_count,
            "estimate_ratio": [0.99] * run_count,
        },
        "outcomes": ["ok"] * run_count,
    } | more


def change(case_name: str, at: int, **more: Any) -> dict[str, Any]:
    """Returns a change: the peak grew in this run."""
    where = history_run(at)
    one = {
        "case": case_name, "device": DEVICE, "backend": "opencl", "metric": "requested_peak_bytes",
        "run": where["id"], "date": where["date"], "before": PEAK, "after": PEAK + 4096,
        "relative": 4096 / PEAK, "verdict": "regression", "state": "open",
        "cause": ["added: flags (buffer), 4096 B"], "resolution": None,
        "new": False, "commit": None, "commit_before": None, "environment": [],
    } | more
    levels = f"{one['before']} → {one['after']}"
    one = {"levels": levels, "summary": f"{levels}, since {one['date'][:10]}"} | one
    is_open = (one["verdict"], one["state"]) in (("regression", "open"), ("suspicious", None))
    is_recent = one["verdict"] in ("improvement", "recovery") and one["state"] == "past"
    return {"section": ("new" if one.get("new") else "open") if is_open else "recent" if is_recent else "closed"} | one


def finding(places: list[int], changes: list[dict], **more: Any) -> dict[str, Any]:
    """Returns a finding of the changes at these places of `changes`."""
    first = changes[places[0]]
    return {
        "finding": None, "section": first["section"], "verdict": first["verdict"], "metric": first["metric"],
        "new": first.get("new", False), "members": places, "with_it": [], "devices": [], "compare": None, "machine": None,
        "summary": first["summary"],
        "variants": list(dict.fromkeys("/".join(changes[place]["case"].split("/")[:2]) for place in places)),
    } | more


def case_finding(status: dict) -> dict[str, Any]:
    """Returns the finding of a case whose state is not due to a change."""
    section = {"left_suite": "recent", "as_on_base": "closed"}.get(status["state"], "open")
    part = {"device": status["device"], "backend": status["backend"], "cases": [status["case"]]}
    return {
        "finding": None, "section": section, "verdict": status["state"], "metric": None, "new": section == "recent", "members": [],
        "with_it": [], "devices": [part], "compare": None, "machine": None, "summary": status["texts"][0] if status["texts"] else "",
        "variants": ["/".join(status["case"].split("/")[:2])],
    }


def series_text(runs: list[dict], cases: list[dict]) -> str:
    """Returns lines as `history export` writes them: the runs of a device, then its cases. `cases` have a value for each of `runs`."""

    def key(one: dict) -> tuple[str, str]:
        return one["device"], one["backend"]

    def of_device(values: Any, places: list[int]) -> Any:
        return [values[place] for place in places] if isinstance(values, list) and len(values) == len(runs) else values

    lines: list[dict] = []
    for device in dict.fromkeys(map(key, runs)):
        places = [place for place, run in enumerate(runs) if key(run) == device]
        lines.append({"runs": [runs[place] for place in places]})
        for one in cases:
            if key(one) != device:
                continue
            series = {metric: of_device(values, places) for metric, values in (one.get("series") or {}).items()}
            lines.append(one | {"series": series} | ({"outcomes": of_device(one["outcomes"], places)} if "outcomes" in one else {}))
    lines += [one for one in cases if key(one) not in map(key, runs)]
    return "\n".join(map(json.dumps, lines)) + "\n"


def state(case_name: str, name: str, *texts: str, **more: Any) -> dict[str, Any]:
    """Returns the status of a case."""
    fails = name in ("regression", "window", "rule", "as_on_base")
    judgement = {"failed": "failed_measurement", "skipped": "skipped", "left_suite": "skipped"}.get(name, "fail" if fails else "pass")
    return {
        "case": case_name, "device": DEVICE, "backend": "opencl", "state": name, "judgement": judgement,
        "needs_action": name in ("regression", "failed", "window", "rule", "suspicious"), "texts": list(texts),
    } | more


def states_of(changes: list[dict]) -> list[dict]:
    """Returns the states of cases by their worst changes."""
    found = {}
    order = {"recovery": 0, "improvement": 1, "suspicious": 2, "regression": 3}
    for one in sorted(changes, key=lambda change: order[change["verdict"]]):
        is_open = (one["verdict"], one["state"]) in (("regression", "open"), ("suspicious", None))
        if is_open or (one["verdict"], one["state"]) in (("improvement", "past"), ("recovery", "past")):
            found[one["case"], one["device"]] = state(one["case"], one["verdict"], device=one["device"], backend=one["backend"])
    return list(found.values())


def trends_text(changes: list[dict] | None = None, cases: list[dict] | None = None, **more: Any) -> str:
    changes = changes or []
    cases = [*states_of(changes), *(cases or [])]
    count = sum(one["needs_action"] for one in cases)
    findings = [finding([place], changes) for place in range(len(changes))]
    findings += [case_finding(one) for one in cases if one["state"] in ("failed", "window", "rule", "as_on_base")]
    findings += [case_finding(one) for one in cases if one["state"] == "left_suite" and any("new since" in text for text in one["texts"])]
    headline = f"{count} case{' needs' if count == 1 else 's need'} attention" if count else "nothing to do"
    trends = {"version": 1, "headline": headline, "tally": f"{quantity(len(cases), 'case')}: as the test says", "cases": cases, "commit_url": None}
    trends |= {key: [] for key in ("accepted", "environment_changes", "not_enough_data", "not_compared", "branches", "newest_runs")}
    return json.dumps(trends | {"changes": changes, "findings": findings} | more)


def run_text(observations: list[dict]) -> str:
    return json.dumps(run_document(observations))


def assessed(cases: list[dict], changes: list[dict] | None = None, run_count: int = 30, runs: list[dict] | None = None,
             observations: list[dict] | None = None, states: list[dict] | None = None, **trends: Any) -> Assessment:
    """Returns the assessment of these."""
    text = series_text(runs or [history_run(i) for i in range(run_count)], cases)
    return assessed_lines(text.splitlines(), trends_text(changes, states, **trends), observations)


def assessed_lines(series: list[str], trends: str, observations: list[dict] | None = None) -> Assessment:
    """Returns the assessment of the output of the commands."""
    runs = parse_runs(run_text(observations), "run") if observations else []
    return assess(parse_history(series, "history"), parse_trends(trends, "trends"), runs)


def shapes() -> list[dict]:
    """Returns observations of the newest run, enough for lines."""
    return [observation(variant, "edge", ny) for variant in ("padding/old", "padding/new") for ny in (32, 64, 128)]


def device_cases(runs: list[dict], devices: tuple[str, ...], names: list[str]) -> list[dict]:
    """Returns these cases on each device, measured in its runs."""
    cases = [case(name, len(runs), device) for device in devices for name in names]
    for one in cases:
        mine = [run["device"] == one["device"] for run in runs]
        one["outcomes"] = ["ok" if is_mine else None for is_mine in mine]
        one["series"] = {
            metric: [value if is_mine else None for value, is_mine in zip(values, mine)] for metric, values in one["series"].items()
        }
    return cases


def write_files(folder: Path, series: str, trends: str, run: str | None = None) -> list[str]:
    """Returns the options of `report` that read them."""
    (folder / "series.jsonl").write_text(series, encoding="utf-8")
    (folder / "trends.json").write_text(trends, encoding="utf-8")
    options = ["--series", str(folder / "series.jsonl"), "--trends", str(folder / "trends.json")]
    if run is not None:
        (folder / "run.json").write_text(run, encoding="utf-8")
        options += ["--run", str(folder / "run.json")]
    return options
