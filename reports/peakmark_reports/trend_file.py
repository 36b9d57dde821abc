"""Reads the output of `peakmark trends --json`. Objects have the keys of docs/formats.md as attributes."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

from .common import check_version, reading

TRENDS_VERSION = 1


class Trends(SimpleNamespace):
    """The whole output. `cases` are by case, device and backend: a missing one is steady. The changes of a finding are in place of
    their numbers."""

    def commit_link(self, commit: str) -> str:
        """Returns the address of a commit; empty without a template."""
        hash_ = commit.split("+")[0]
        if not re.match("https?://", self.commit_url or "") or not re.fullmatch("[0-9a-fA-F]+", hash_):
            return ""
        return self.commit_url.replace("{commit}", hash_)


def no_trends() -> Trends:
    """Returns the trends of a history that was not judged."""
    lists = ("changes", "accepted", "environment_changes", "not_enough_data", "findings", "not_compared", "branches", "newest_runs")
    return Trends(headline="", tally="", cases={}, commit_url=None, **{name: [] for name in lists})


def needs_attention(change: SimpleNamespace) -> bool:
    return change.section in ("new", "open")


def weight(relative: float | None, before: float | int | str | None, after: float | int | str | None) -> tuple[float, float]:
    """Orders changes: the absolute relative change, infinite if unknown (from 0, for example); of equal ones the step in the
    unit of the metric."""
    levels = [level for level in (before, after) if isinstance(level, (int, float))]
    return float("inf") if relative is None else abs(relative), abs(levels[1] - levels[0]) if len(levels) == 2 else 0.0


def parse_trends(document: str, name: str) -> Trends:
    """Parses the JSON; errors show `name`. Raises InputError."""
    with reading("trends --json", name):
        root = json.loads(document, object_hook=lambda one: SimpleNamespace(**one))
        check_version(root.version, TRENDS_VERSION, name)
        trends = Trends(**vars(root))
        trends.cases = {(one.case, one.device, one.backend): one for one in root.cases}
        for one in root.findings:
            one.members = [root.changes[place] for place in one.members]
            one.with_it = [root.changes[place] for place in one.with_it]
        return trends
