#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Texts of others (names, messages of programs) in the markdown that GitHub and GitLab show: none of them may
// end a cell, begin a tag or reach a terminal. Both take what plain_text() takes out.
namespace peakmark {

/// Bytes. GitHub refuses a summary of 1 MiB; what is left out of one is said.
inline constexpr std::size_t kMarkdownLimit = 1'000'000;

/// A text in a table's cell, or anywhere in a line: bars and what would begin a tag are written out, lines
/// become one.
std::string markdown_cell(std::string_view text);

/// A name between backticks; what ends these, or a cell, becomes a blank.
std::string markdown_code(std::string_view name);

}  // namespace peakmark
