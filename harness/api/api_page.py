#!/usr/bin/env python3
"""Writes docs/api.md from the comments of the public headers.

    harness/api/api_page.py          writes the page
    harness/api/api_page.py --check  exit code 1 if the page differs from the headers

Needs tree-sitter and tree-sitter-cpp (ci/requirements-test.txt), which parse a header without a compiler and without the
headers that it includes. Every public declaration needs a comment, `///` before it or `///<` after it. `//` before declarations
marks them, up to the next empty line, as not for programs.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter
import tree_sitter_cpp

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "api.md"
INCLUDE = "harness/api/include/peakmark"
# The headings of the page, the header below each, and the header that a program includes for it.
SECTIONS = [
    ("A program", f"{INCLUDE}/worker/program.hpp", "worker.hpp"),
    ("Variants", f"{INCLUDE}/worker/variant.hpp", "worker.hpp"),
    ("Cases", f"{INCLUDE}/worker/case.hpp", "worker.hpp"),
    ("Devices and arrays", f"{INCLUDE}/worker/device.hpp", "worker.hpp"),
    ("Kernels for OpenCL and CUDA", f"{INCLUDE}/worker/kernel.hpp", "worker.hpp"),
    ("Plain OpenCL", f"{INCLUDE}/opencl.hpp", "opencl.hpp"),
    ("Errors of OpenCL", f"{INCLUDE}/opencl_error.hpp", "opencl_error.hpp"),
    ("Plain CUDA", f"{INCLUDE}/cuda.hpp", "cuda.hpp"),
    ("Device memory in a Google Benchmark", f"{INCLUDE}/benchmark.hpp", "benchmark.hpp"),
    ("Marks of phases", "harness/record/recorders/phase.h", "phase.h"),
]
# Namespaces within peakmark that programs write before a name.
CALLED_WITH = ("opencl",)
WIDTH = 120
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


class Mistake(Exception):
    """An error in a header, with its place."""


@dataclass
class Entry:
    """A function, a member, a type: its declaration and its comment."""

    signature: str
    text: str
    members: list[Entry] = field(default_factory=list)
    is_type: bool = False


def text_of(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode()


def plain(comment: str) -> str:
    """Returns the text of a comment without its comment signs."""
    if comment.startswith("/*"):
        lines = comment.removeprefix("/*").removesuffix("*/").rstrip().split("\n")
        return "\n".join([lines[0].strip(), *(re.sub(r"^ \* ?", "", line) for line in lines[1:])]).strip("\n")
    return re.sub(r"^\s*///?<? ?", "", comment)


def is_doc(comment: str, path: str) -> bool:
    return comment.startswith("/*") if path.endswith(".h") else comment.startswith("///")


class Header:
    """The documented declarations of one header, in its order."""

    def __init__(self, path: str, source: bytes):
        self.path = path
        tree = PARSER.parse(source)
        if (wrong := self._wrong(tree.root_node)) is not None:
            raise Mistake(f"{path}:{wrong.start_point.row + 1}: tree-sitter does not understand it")
        first = next((node for node in tree.root_node.children if node.type == "comment"), None)
        if first is None or first.start_point.row != 0:
            raise Mistake(f"{path}: it does not begin with a comment that says what it is for")
        self.text = "\n".join(self._joined(tree.root_node.children, 0)[0])
        self.entries = list(self._entries(tree.root_node, ""))

    @classmethod
    def _wrong(cls, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """Returns the parts that could not be parsed. tree-sitter reports arguments `= {}` as a missing token, which is fine."""
        if node.is_error or not node.has_error:
            return node if node.is_error else None
        return next((wrong for child in node.children if (wrong := cls._wrong(child)) is not None), None)

    @staticmethod
    def _joined(nodes: list[tree_sitter.Node], begin: int) -> tuple[list[str], int]:
        """Returns the lines of the consecutive comments from `begin` on, and the index of the node after them."""
        lines, at = [], begin
        while at < len(nodes) and nodes[at].type == "comment":
            if at > begin and nodes[at].start_point.row != nodes[at - 1].end_point.row + 1:
                break
            lines.append(plain(text_of(nodes[at])))
            at += 1
        return lines, at

    def _entries(self, scope: tree_sitter.Node, inside: str) -> Iterator[Entry]:
        """`inside`: the namespace or type of `scope`."""
        nodes = scope.children
        is_public = scope.type != "field_declaration_list" or text_of(scope.parent.child(0)) != "class"  # type: ignore
        at = 0
        hidden_to: int | None = None  # the last line of declarations that are not for programs
        while at < len(nodes):
            node = nodes[at]
            if node.type == "access_specifier":
                is_public = text_of(node) == "public"
            doc: list[str] | None = None
            is_hidden = hidden_to is not None and node.start_point.row <= hidden_to + 1 and node.type != "comment"
            if node.type == "comment" and self._is_trailing(nodes, at):
                at += 1
                continue
            if node.type == "comment":
                first = text_of(node)
                lines, after = self._joined(nodes, at)
                ends = nodes[after - 1].end_point.row
                if after < len(nodes) and nodes[after].start_point.row == ends + 1:
                    at, node = after, nodes[after]
                    is_hidden = not is_doc(first, self.path)
                    doc = None if is_hidden else lines
                else:
                    at = after
                    continue
            hidden_to = node.end_point.row if is_hidden else None
            following = nodes[at + 1] if at + 1 < len(nodes) else None
            at += 1
            if node.type == "namespace_definition":
                name = text_of(node.child_by_field_name("name"))  # type: ignore[arg-type]
                body = node.child_by_field_name("body")
                if name != "detail" and body is not None:
                    yield from self._entries(body, inside if name.startswith("api_") else name)
                continue
            if not is_public or is_hidden:
                continue
            if node.type in ("preproc_ifdef", "preproc_if", "linkage_specification", "declaration_list"):
                yield from self._entries(node, inside)
                continue
            if doc is None and following is not None and self._is_trailing(nodes, at):
                doc = [plain(text_of(following))]
                while at + 1 < len(nodes) and self._is_trailing(nodes, at + 1):
                    at += 1
                    doc.append(plain(text_of(nodes[at])))
            yield from self._declared(node, doc, inside)

    @staticmethod
    def _is_trailing(nodes: list[tree_sitter.Node], at: int) -> bool:
        """Returns whether a comment follows a declaration, or continues such a comment."""
        node = nodes[at]
        if node.type != "comment" or at == 0:
            return False
        if text_of(node).startswith("///<"):
            return True
        return node.start_point.row == nodes[at - 1].end_point.row

    def _declared(self, node: tree_sitter.Node, doc: list[str] | None, inside: str) -> Iterator[Entry]:
        inner = node
        template = ""
        if node.type == "template_declaration":
            template = re.sub(r"\s+", " ", text_of(node.child_by_field_name("parameters")))  # type: ignore[arg-type]
            template = f"template {template} "
            inner = next(child for child in reversed(node.children) if child.is_named)
        kinds = ("class_specifier", "struct_specifier")
        if inner.type in kinds and inner.child_by_field_name("body") is not None:
            name = text_of(inner.child_by_field_name("name"))  # type: ignore[arg-type]
            kind = "class" if inner.type == "class_specifier" else "struct"
            bases = " ".join(text_of(child) for child in inner.children if child.type == "base_class_clause")
            full_name = f"{inside}::{name}" if inside in CALLED_WITH else name
            entry = Entry(f"{template}{kind} {full_name}{' ' + bases if bases else ''}", self._said(node, doc), is_type=True)
            entry.members = list(self._entries(inner.child_by_field_name("body"), name))  # type: ignore[arg-type]
            yield entry
            return
        declarations = ("function_definition", "field_declaration", "declaration", "alias_declaration")
        if inner.type not in declarations or self._goes_without_saying(inner, inside):
            return
        signature = template + self._signature(inner)
        if inside in CALLED_WITH:
            signature = self._qualified(inner, signature, inside)
        yield Entry(signature, self._said(node, doc))

    def _said(self, node: tree_sitter.Node, doc: list[str] | None) -> str:
        if doc:
            return "\n".join(doc)
        what = text_of(node).split("\n")[0].strip()
        raise Mistake(
            f"{self.path}:{node.start_point.row + 1}: `{what}` has no comment; say what it is for with `///` before it, "
            "or with `//` that it is not for programs"
        )

    def _goes_without_saying(self, node: tree_sitter.Node, inside: str) -> bool:
        """Returns whether a declaration needs no comment, such as deleted copies, moves and destructors."""
        text = text_of(node)
        if node.type == "function_definition" and "{" in text:
            text = text.split("{")[0]
        if re.search(r"= delete;$", text) or re.match(r"(virtual )?~", text):
            return True
        if re.match(rf"{inside}\({inside}&& ", text) or re.match(rf"{inside}& operator=\(", text):
            return True
        if re.match(rf"{inside}\(\) = default;$", text) and inside == "Computation":
            return True
        if "friend" in text.split() or text.startswith(("static_assert", "using std::")):
            return True
        return self.path.endswith(".h") and (node.type != "function_definition" or "_(" in text)

    @staticmethod
    def _signature(node: tree_sitter.Node) -> str:
        """Returns the declaration without its body and initialisers, on one line."""
        end = node.end_byte
        for child in node.children:
            if child.type in ("compound_statement", "field_initializer_list"):
                end = min(end, child.start_byte)
        text = (node.text or b"")[: end - node.start_byte].decode()
        text = re.sub(r"\s+", " ", text.split("//")[0] if "\n" not in text else text).strip().removesuffix(";")
        text = re.sub(r"\[\[nodiscard\]\] |\binline |^static inline ", "", text)
        return re.sub(r" = (default|\{\}|nullptr|std::nullopt)$", "", text).strip()

    @staticmethod
    def _qualified(node: tree_sitter.Node, signature: str, inside: str) -> str:
        found = re.search(r"(\w+)\(", signature)
        if found is None:
            return signature
        return f"{signature[: found.start()]}{inside}::{signature[found.start() :]}"


def wrapped(text: str, indent: str = "", first: str = "") -> str:
    """Wraps paragraphs; lines that are indented by four are code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        for block, is_code in blocks(paragraph):
            if is_code:
                parts.append("\n".join(f"{indent}{line}" for line in ["```cpp", *textwrap.dedent(block).split("\n"), "```"]))
                continue
            begin = first if not parts else indent
            lines = textwrap.wrap(
                re.sub(r"\s+", " ", block), WIDTH, initial_indent=begin, subsequent_indent=indent,
                break_on_hyphens=False, break_long_words=False,
            )  # fmt: skip
            bad = [line for line in lines[1:] if re.match(r"\s*([-+*#>|]|\d+\.)\s", line)]
            if bad:
                raise Mistake(f"a line of the page would begin with {bad[0].strip()[:20]!r}; reword its comment")
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def blocks(paragraph: str) -> Iterator[tuple[str, bool]]:
    lines: list[str] = []
    for line in paragraph.split("\n"):
        if lines and line.startswith("    ") != lines[-1].startswith("    "):
            yield "\n".join(lines), lines[-1].startswith("    ")
            lines = []
        lines.append(line)
    yield "\n".join(lines), lines[-1].startswith("    ")


def version(abi: str) -> str:
    return ".".join(re.search(rf"define PEAKMARK_API_{part} (\d+)", abi)[1] for part in ("MAJOR", "MINOR"))  # type: ignore[index]


def page(root: Path = ROOT) -> str:
    for header in sorted((root / INCLUDE).glob("*.hpp")):
        if header.name != "worker.hpp" and f"{INCLUDE}/{header.name}" not in [path for _, path, _ in SECTIONS]:
            raise Mistake(f"{INCLUDE}/{header.name}: a public header that api_page.py does not know; add it to SECTIONS")
    api = version((root / INCLUDE / "worker_abi.h").read_text())
    main = Header(f"{INCLUDE}/worker.hpp", (root / INCLUDE / "worker.hpp").read_bytes())
    parts = [
        "# The API of workers",
        "<!-- Written by harness/api/api_page.py from the comments of the headers: change those. -->",
        f"Version {api}. [What a version promises](formats.md#versions); [a first worker](own-kernels.md).",
        wrapped(main.text),
        "Everything is in the namespace `peakmark`. Sizes are 64-bit. Memory is in bytes, times are in nanoseconds.",
    ]
    for title, path, include in SECTIONS:
        header = Header(path, (root / path).read_bytes())
        parts.append(f"## {title}")
        parts.append(f"`#include <peakmark/{include}>`")
        parts.append(wrapped(header.text))
        free = [entry for entry in header.entries if not entry.is_type]
        for entry in header.entries:
            if not entry.is_type:
                continue
            name = re.sub(r"^.*?\b(?:class|struct) ([\w:]*\w).*$", r"\1", entry.signature)
            parts.append(f"### {name}")
            if entry.signature not in (f"class {name}", f"struct {name}"):
                parts.append(f"`{entry.signature}`")
            parts.append(wrapped(entry.text))
            if entry.members:
                parts.append("\n".join(item(member) for member in entry.members))
        if free:
            if len(free) < len(header.entries):
                parts.append("### Functions and names")
            parts.append("\n".join(item(entry) for entry in free))
    return "\n\n".join(parts) + "\n"


def item(entry: Entry) -> str:
    return wrapped(f"`{entry.signature}`: {entry.text}", "  ", "- ")


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        written = page()
    except Mistake as mistake:
        print(f"docs/api.md: {mistake}", file=sys.stderr)
        return 1
    if not arguments:
        PAGE.write_text(written)
        return 0
    if PAGE.exists() and PAGE.read_text() == written:
        return 0
    print("docs/api.md is not what the headers say: run harness/api/api_page.py, and commit it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
