#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace peakmark {

/// The first 12 digits of a commit, and the `+` of sources that were changed since.
inline std::string short_commit(std::string_view commit) {
  constexpr std::size_t kDigits = 12;
  std::string text(commit.substr(0, kDigits));
  if (commit.size() > kDigits && commit.ends_with('+')) text += '+';
  return text;
}

}  // namespace peakmark
