#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Texts of others (names, messages of programs) in the markdown that GitHub and GitLab show: none of them
// ends a cell, is a link, an image, a mention or a tag, or reaches a terminal.
// reports/peakmark_reports/ci_forms does the same in Python; markdown_cases.inc is the table of both.
namespace peakmark {

/// Bytes. GitHub refuses a summary of 1 MiB; what is left out of one is said.
inline constexpr std::size_t kMarkdownLimit = 1'000'000;

/// A text as itself in a table's cell or anywhere in a line; several lines become one.
std::string markdown_cell(std::string_view text);

/// A name between backticks; a backtick or a bar in it becomes a letter that looks like it. Empty for none.
std::string markdown_code(std::string_view name);

}  // namespace peakmark
