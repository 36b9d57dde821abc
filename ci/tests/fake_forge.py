"""Fakes the comments of a pull request, as `gh api` and GitLab's API through curl return them. They are in the file $COMMENTS.

A call that a forge would refuse is an error. A page of GitLab has one note, so that a second page is read.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

FILE = Path(os.environ["COMMENTS"])
GITHUB = "repos/team/project/issues"
GITLAB = "https://gitlab.example/api/v4"
NOTES = f"{GITLAB}/projects/5/merge_requests/12/notes"


def options(words: list[str], flags: set[str]) -> tuple[dict[str, str], list[str]]:
    found, rest = {}, []
    words = list(words)
    while words:
        word = words.pop(0)
        if word in flags:
            found[word] = ""
        elif word.startswith("--"):
            found[word] = words.pop(0)
        else:
            rest.append(word)
    return found, rest


def update(path: str, collection: str, one: str, body: str) -> None:
    """Creates a comment in `collection`, or replaces the comment `one/ID`."""
    comments = json.loads(FILE.read_text())
    if path == collection:
        comments.append({"id": 100 + len(comments), "user": {"login": "github-actions[bot]"}, "author": {"id": 9}, "body": body})
    else:
        assert path.startswith(f"{one}/"), path
        comments[[str(comment["id"]) for comment in comments].index(path.removeprefix(f"{one}/"))]["body"] = body
    FILE.write_text(json.dumps(comments))


def gh(words: list[str]) -> None:
    assert os.environ["GH_TOKEN"] == "token" and words.pop(0) == "api"
    found, (path,) = options(words, {"--silent", "--paginate"})
    collection = f"{GITHUB}/12/comments"
    if "--method" not in found:
        assert path == f"{collection}?per_page=100" and "--paginate" in found
        sys.exit(subprocess.run(["jq", "-r", found["--jq"]], input=FILE.read_text(), text=True, check=False).returncode)
    key, value = found["--field"].split("=@", 1)
    assert (key, found["--method"]) == ("body", "POST" if path == collection else "PATCH")
    update(path, collection, f"{GITHUB}/comments", Path(value).read_text(encoding="utf-8"))


def curl(words: list[str]) -> None:
    assert sys.stdin.read() == "PRIVATE-TOKEN: project-token\n" and "project-token" not in " ".join(words)
    found, (url,) = options(words, {"--silent", "--show-error", "--fail"})
    assert "--fail" in found and found["--header"] == "@-"
    if url == f"{GITLAB}/user":
        print(json.dumps({"id": 9}))
    elif "--request" not in found:
        page = int(url.removeprefix(f"{NOTES}?per_page=100&page="))
        print(json.dumps(json.loads(FILE.read_text())[page - 1 : page]))
    else:
        key, value = found["--data-urlencode"].split("@", 1)
        assert (key, found["--request"]) == ("body", "POST" if url == NOTES else "PUT")
        update(url, NOTES, NOTES, Path(value).read_text(encoding="utf-8"))
        Path(found["--output"]).write_text("{}")


{"gh": gh, "curl": curl}[sys.argv[1]](sys.argv[2:])
