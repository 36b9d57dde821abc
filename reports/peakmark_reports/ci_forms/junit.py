"""JUnit XML: a test a case, failing where the case needs a look."""

from __future__ import annotations

from xml.etree import ElementTree

from ..assessment import STATES, Assessment, Standing
from ..groups import Group, Member
from .plain import change_text, plain

# `error` is what could not be measured; a suspicion is told and fails nothing.
_RESULTS = {
    "regression": "failure", "window": "failure", "rule": "failure", "vanished": "failure", "failed": "error",
    "skipped": "skipped",
}


def _texts(standing: Standing, several_devices: bool) -> list[str]:
    texts = [
        change_text(
            Group(standing.state, [Member(standing, finding)]).summary(several_devices), finding.change.allocations
        )
        for finding in standing.findings
        if finding.change.open
    ]
    return [*map(plain, standing.reasons), *texts] or [STATES[standing.state]]


def _result(standing: Standing) -> str | None:
    """A case whose bytes were judged is a passed test, also while its times have too few runs."""
    is_unknown = standing.state in ("young", "new") and standing.history.last_value("requested_peak_bytes") is None
    return "skipped" if is_unknown else _RESULTS.get(standing.state)


def junit(assessment: Assessment) -> str:
    """Viewers fold by the class name: operation and variant."""
    several = len(assessment.history.devices) > 1
    tests = sorted(assessment.standings, key=lambda one: (one.history.case, one.device.device))
    results = [_result(standing) for standing in tests]
    counts = {
        "tests": str(len(tests)),
        "failures": str(results.count("failure")),
        "errors": str(results.count("error")),
        "skipped": str(results.count("skipped")),
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "peakmark trends", **counts, "time": "0"})
    for standing, result in zip(tests, results):
        device = f" on {standing.device.device}" if several else ""
        test = ElementTree.SubElement(
            suite, "testcase",
            {
                "classname": plain(standing.history.variant.replace("/", ".")),
                "name": plain(standing.history.case + device),
                "time": "0",
            },
        )
        if result == "skipped":
            ElementTree.SubElement(test, "skipped", {"message": _texts(standing, several)[0]})
        elif result is not None:
            texts = _texts(standing, several)
            child = ElementTree.SubElement(test, result, {"type": standing.state, "message": texts[0]})
            child.text = "\n".join(texts)
        elif standing.state != "steady":
            ElementTree.SubElement(test, "system-out").text = "\n".join(
                [STATES[standing.state], *_texts(standing, several)]
            )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
