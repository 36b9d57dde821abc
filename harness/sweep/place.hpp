#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace peakmark {

/// Where something stands in a suite file, for the messages about it.
struct Place {
  std::string file;
  std::size_t line = 0;
  std::string key;  ///< `axes.nx`
};

/// Throws UsageError with `file:line: key: what`.
[[noreturn]] void fail(const Place& place, std::string_view what);

template <typename T>
struct Placed {
  T value;
  Place place;
};

}  // namespace peakmark
