#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace peakmark::bench {

/// Returns the number if `text` is a whole number and nothing else, for example not `--help`.
inline std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace peakmark::bench
