"""What the pages of histories and of runs share: the template's environment, and the folder that they are written to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from .common import InputError
from .plots import FOLDER

PAGE = "index.html"
DATA = "data"
# Identifies the folder of a report, whose files may be replaced.
GENERATOR = '<meta name="generator" content="peakmark report">'


class PageError(InputError):
    """The report cannot be written to this folder."""


def json_markup(value: Any) -> Markup:
    """Returns ASCII JSON that is safe within HTML."""
    return htmlsafe_json_dumps(value, dumps=json.dumps, separators=(",", ":"), allow_nan=False)


def render(template: str, scripts: Sequence[str], data: Any, **values: Any) -> str:
    """Returns the text of a page with its style, its scripts and the data that they read. Escapes all texts of `values`."""
    environment = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )
    loader = environment.loader
    return environment.get_template(template).render(
        css=Markup(loader.get_source(environment, "page.css")[0]),
        script=Markup("".join(loader.get_source(environment, name)[0] for name in scripts)),
        data=json_markup(data),
        **values,
    )


def prepare_folder(folder: Path) -> None:
    """Creates the folder, or removes the files of an earlier report. Raises PageError if it is a file or has other files, and OSError."""
    if folder.is_file():
        raise PageError(f"{folder}: a file, not a folder; name an empty or a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    if any(folder.iterdir()):
        if not page.is_file() or GENERATOR not in page.read_text(encoding="utf-8", errors="replace")[:2000]:
            raise PageError(f"{folder}: contains other files than a report's; name an empty or a new folder")
        for part, endings in ((DATA, (".js",)), (FOLDER, (".svg", ".png"))):
            for path in sorted((folder / part).glob("*")):
                if path.suffix in endings:
                    path.unlink()
