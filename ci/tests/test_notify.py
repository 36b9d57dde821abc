"""Runs the examples of `peakmark trends --notify` against a local HTTP server and a fake `sendmail`."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/notify"
OPENED = {
    "version": 1, "minor": 0, "event": "opened", "finding": "0123456789ab",
    "text": "regression: blur/two_passes, 2 cases, largest: blur/two_passes/opencl: requested_peak_bytes 15 MiB → 20 MiB",
    "case": "blur/two_passes/opencl", "metric": "requested_peak_bytes", "verdict": "regression",
    "cases": ["blur/two_passes/opencl", "blur/two_passes/opencl/ny:32/nx:32"],
    "commit_url": "https://example.org/abc", "compare": "peakmark compare blur.toml --commits abc def",
}
UPDATED = OPENED | {"event": "updated", "devices": [{"device": "GPU"}, {"device": "CPU"}], "text": "regression: on 2 devices: GPU, CPU"}
CLOSED = OPENED | {"event": "closed", "reason": "recovered", "text": "recovered: regression: blur/two_passes"}


class Server:
    """A part of GitHub's API for issues, and a webhook at /hook. Fails the next `failures` requests."""

    def __init__(self):
        self.issues, self.comments, self.posted, self.failures = [], [], [], 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_any(self):
                text = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, body = outer.answer(self.command, self.path, json.loads(text) if text else None, self.headers)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            do_GET = do_POST = do_PATCH = do_any

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, method, path, body, headers):
        if self.failures:
            self.failures -= 1
            return 500, {}
        if path == "/hook":
            self.posted.append(body)
            return 200, {}
        assert headers["Authorization"] == "Bearer a token"
        parts = urlsplit(path)
        match (method, parts.path.removeprefix("/repos/ada/blur/issues").strip("/").split("/")):
            case "GET", [""]:
                query = parse_qs(parts.query)
                start = (int(query["page"][0]) - 1) * int(query["per_page"][0])
                found = [one for one in self.issues if query["labels"][0] in one["labels"]]
                return 200, found[start : start + int(query["per_page"][0])]
            case "POST", [""]:
                self.issues.append(body | {"number": len(self.issues) + 1, "state": "open"})
                return 201, self.issues[-1]
            case "POST", [number, "comments"]:
                self.comments.append((int(number), body["body"]))
                return 201, {}
            case "PATCH", [number]:
                self.issues[int(number) - 1].update(body)
                return 200, self.issues[int(number) - 1]
        return 404, {}


@pytest.fixture
def server():
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def notify(name, finding, *words, **variables):
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *words], input=json.dumps(finding), text=True, capture_output=True, check=False,
        env=os.environ | {"no_proxy": "127.0.0.1"} | variables, timeout=60,
    )


def issue(server, finding):
    return notify(
        "github_issue.py", finding, GITHUB_API_URL=server.url, GITHUB_REPOSITORY="ada/blur", GITHUB_TOKEN="a token"
    )


def test_an_issue_is_opened_updated_and_closed(server):
    other = {"number": 1, "title": "another", "body": None, "labels": ["peakmark"], "state": "open"}
    server.issues.append(other)
    assert issue(server, OPENED).returncode == 0
    assert issue(server, OPENED).returncode == 0
    assert len(server.issues) == 2, "the same finding is one issue"
    opened = server.issues[1]
    assert opened["title"] == "regression: blur/two_passes/opencl: requested_peak_bytes"
    assert OPENED["compare"] in opened["body"] and OPENED["text"] in opened["body"]
    assert issue(server, UPDATED).returncode == 0
    assert (len(server.issues), opened["state"]) == (2, "open")
    assert UPDATED["text"] in opened["body"] and "2 cases on GPU, CPU:" in opened["body"]
    assert server.comments[-1] == (2, "The regression is still open on GPU, CPU.")
    assert issue(server, CLOSED).returncode == 0
    assert (opened["state"], opened["state_reason"]) == ("closed", "completed")
    assert server.comments[-1] == (2, f"```\n{CLOSED['text']}\n```")
    assert issue(server, OPENED | {"text": "it grew again"}).returncode == 0
    assert (len(server.issues), opened["state"]) == (2, "open")
    assert "it grew again" in opened["body"]
    assert other["state"] == "open", "another issue is left alone"


def test_an_issue_on_a_later_page_is_found(server):
    server.issues += [{"number": i, "body": "", "labels": ["peakmark"], "state": "open"} for i in range(1, 151)]
    assert issue(server, OPENED).returncode == 0
    assert issue(server, CLOSED).returncode == 0
    assert (len(server.issues), server.issues[150]["state"]) == (151, "closed")


def test_a_webhook_gets_text_and_finding(server):
    assert notify("webhook.py", OPENED, NOTIFY_URL=server.url + "/hook").returncode == 0
    assert server.posted == [{"text": f"peakmark: opened: {OPENED['text']}", "finding": OPENED}]


def test_a_server_that_fails_is_a_failure(server):
    server.failures = 2
    assert issue(server, OPENED).returncode == 1
    assert notify("webhook.py", OPENED, NOTIFY_URL=server.url + "/hook").returncode == 1
    assert (server.issues, server.posted) == ([], [])


def test_a_mail_has_subject_and_cases(tmp_path):
    sendmail = tmp_path / "sendmail"
    sendmail.write_text(f'#!/bin/sh\ncat > "{tmp_path}/mail"\necho "$@" > "{tmp_path}/words"\n')
    sendmail.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    hostile = OPENED | {"case": "a\nBcc: all@example.org"}
    for finding in (OPENED, hostile):
        assert notify("mail.py", finding, "team@example.org", PATH=path).returncode == 0
        mail = (tmp_path / "mail").read_text()
        assert "To: team@example.org\n" in mail and "\nBcc:" not in mail
    assert (tmp_path / "words").read_text() == "-t -oi\n"
    notify("mail.py", OPENED, "team@example.org", PATH=path)
    assert "Subject: peakmark: opened: blur/two_passes/opencl\n" in (tmp_path / "mail").read_text()
    sendmail.write_text("#!/bin/sh\ncat > /dev/null\nexit 75\n")
    assert notify("mail.py", OPENED, "team@example.org", PATH=path).returncode == 75
