#!/usr/bin/env python3
"""Opens a GitHub issue for a finding, updates it when another device has the finding, opens it again if it comes back, and closes it.

peakmark trends --notify examples/notify/github_issue.py

Needs $GITHUB_REPOSITORY (OWNER/PROJECT) and $GITHUB_TOKEN, which may write issues. $GITHUB_API_URL is set in GitHub's jobs. The
issue of a finding is known by a line in its text, so running this twice makes one issue.
"""

import json
import os
import sys
import urllib.request

LABEL = "peakmark"


def api(method: str, path: str, body: dict | None = None) -> list | dict:
    root = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    request = urllib.request.Request(
        f"{root}/repos/{os.environ['GITHUB_REPOSITORY']}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    # Any status but 2xx raises an error: the exit code is 1, and `peakmark trends` sends the finding again.
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def find_issue(marker: str) -> dict | None:
    """Returns the newest issue of a finding; None if there is none."""
    page = 1
    while issues := api("GET", f"issues?labels={LABEL}&state=all&per_page=100&page={page}"):
        for issue in issues:
            if marker in (issue.get("body") or ""):
                return issue
        page += 1
    return None


def devices_text(finding: dict) -> str:
    devices = [one["device"] for one in finding.get("devices", [])]
    return f" on {', '.join(devices)}" if devices else ""


def issue_text(finding: dict, marker: str) -> str:
    lines = ["```", finding["text"], "```", ""]
    if finding.get("compare"):
        lines += ["To compare the two commits:", "```", finding["compare"], "```", ""]
    if finding.get("commit_url"):
        lines += [f"First commit with it: {finding['commit_url']}", ""]
    if finding.get("cases"):
        lines += [f"{len(finding['cases'])} cases{devices_text(finding)}:", "```", *finding["cases"][:200], "```", ""]
    lines += ["Intended? Accept it:", "```", f"peakmark trends accept --finding {finding['finding']} --reason 'WHY'", "```", ""]
    return "\n".join([*lines, marker])


def main() -> None:
    finding = json.load(sys.stdin)
    marker = f"<!-- peakmark-finding: {finding['finding']} -->"
    issue = find_issue(marker)
    if finding["event"] in ("opened", "updated"):
        if issue is None:
            title = f"{finding['verdict']}: {finding['case']}: {finding['metric']}"
            api("POST", "issues", {"title": title[:250], "body": issue_text(finding, marker), "labels": [LABEL]})
        else:
            api("PATCH", f"issues/{issue['number']}", {"state": "open", "body": issue_text(finding, marker)})
            said = "The regression is back." if finding["event"] == "opened" else f"The regression is still open{devices_text(finding)}."
            api("POST", f"issues/{issue['number']}/comments", {"body": said})
    elif issue is not None and issue["state"] == "open":
        api("POST", f"issues/{issue['number']}/comments", {"body": f"```\n{finding['text']}\n```"})
        api("PATCH", f"issues/{issue['number']}", {"state": "closed", "state_reason": "completed"})


if __name__ == "__main__":
    main()
