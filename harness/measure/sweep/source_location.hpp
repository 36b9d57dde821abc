#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace peakmark {

/// A position in a suite file, for error messages.
struct SourceLocation {
  std::string file;
  std::size_t line = 0;
  std::string key;  ///< `axes.nx`
};

/// Throws UsageError with `file:line: key: what`.
[[noreturn]] void fail(const SourceLocation& place, std::string_view what);

template <typename T>
struct Located {
  T value;
  SourceLocation place;
};

}  // namespace peakmark
