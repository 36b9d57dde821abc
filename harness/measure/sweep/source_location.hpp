#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace peakmark {

/// A position in a suite file, for error messages; or a word of the command line.
struct SourceLocation {
  std::string file;      ///< or the word; empty: neither is shown
  std::size_t line = 0;  ///< 0: a word
  std::string key;       ///< `axes.nx`
};

/// Throws UsageError with `file:line: key: what`, or `word: what`.
[[noreturn]] void fail(const SourceLocation& place, std::string_view what);

/// Runs `step` and returns its result. Adds the position to its UsageErrors.
template <typename Step>
decltype(auto) check_here(const SourceLocation& place, Step step) {
  try {
    return step();
  } catch (const UsageError& error) {
    fail(place, error.what());
  }
}

template <typename T>
struct Located {
  T value;
  SourceLocation place;
};

}  // namespace peakmark
