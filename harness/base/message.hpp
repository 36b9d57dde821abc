#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace peakmark {

/// As fmt::print, for what is told beside the results, on standard error mostly. Where it cannot be written
/// (a log on a full disk) nothing stops: fmt::print throws, and an hour of measuring would be given up for a
/// line.
template <typename... Values>
void print_message(std::FILE* stream, fmt::format_string<Values...> text, Values&&... values) {
  const std::string line = fmt::format(text, std::forward<Values>(values)...);
  std::fwrite(line.data(), 1, line.size(), stream);
}

}  // namespace peakmark
