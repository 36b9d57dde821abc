"""Tests which comments api_page.py takes from a header, and which headers it refuses."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_cpp")
sys.path.insert(0, str(Path(__file__).parent))

import api_page  # noqa: E402

HEADER = b"""/// What it is for.
#pragma once

namespace peakmark {
inline namespace api_1 {

/// A box of T.
/// Of two lines.
template <typename T>
class Box : public Base {
 public:
  // For the library.
  explicit Box(const seam& seam) : seam_(seam) {}
  Box(const Box&) = delete;
  ~Box() { reset(); }

  /// Throws OutOfMemory.
  [[nodiscard]] Size put(const std::vector<T>& what, Size at = 0) const { return at; }
  int left = 3;  ///< places
  std::string name = {};  ///< a long
                          ///< remark

 private:
  seam seam_;
};

namespace detail {
void of_nobodys_business();
}  // namespace detail

namespace opencl {
/// Checks.
inline void check(int code) { work(code); }
}  // namespace opencl
}  // namespace api_1
}  // namespace peakmark
"""


def test_only_what_is_public_is_listed():
    header = api_page.Header("box.hpp", HEADER)
    assert header.text == "What it is for."
    box, check = header.entries
    assert (box.signature, box.text) == ("template <typename T> class Box : public Base", "A box of T.\nOf two lines.")
    assert [(member.signature, member.text) for member in box.members] == [
        ("Size put(const std::vector<T>& what, Size at = 0) const", "Throws OutOfMemory."),
        ("int left = 3", "places"),
        ("std::string name", "a long\nremark"),
    ]
    assert (check.signature, check.text) == ("void opencl::check(int code)", "Checks.")


def test_what_is_public_and_without_a_comment_is_refused_by_its_line():
    bare = HEADER.replace(b"  /// Throws OutOfMemory.\n", b"")
    with pytest.raises(api_page.Mistake, match=r"box\.hpp:17: .*put.* has no comment; say what it is for"):
        api_page.Header("box.hpp", bare)


def test_a_header_that_is_no_cpp_is_refused():
    with pytest.raises(api_page.Mistake, match=r"box\.hpp:\d+: tree-sitter does not understand it"):
        api_page.Header("box.hpp", b"/// What.\nclass Box { public: /// One.\n int a = ) ; };\n")


def test_a_line_that_markdown_would_take_for_a_list_is_refused():
    with pytest.raises(api_page.Mistake, match="reword its comment"):
        api_page.wrapped("a" * 119 + " - b")


def test_a_page_that_is_not_what_the_headers_say_fails_the_check(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(api_page, "PAGE", tmp_path / "api.md")
    assert api_page.main(["--check"]) == 1
    assert "run harness/api/api_page.py" in capsys.readouterr().err
    assert api_page.main([]) == 0
    assert api_page.main(["--check"]) == 0
    api_page.PAGE.write_text(api_page.PAGE.read_text().replace("outcome of the case is", "result is"))
    assert api_page.main(["--check"]) == 1


def test_the_committed_page_is_what_the_headers_say():
    assert api_page.main(["--check"]) == 0, "run harness/api/api_page.py, and commit docs/api.md"
