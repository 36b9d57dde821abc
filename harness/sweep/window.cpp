#include "sweep/window.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace peakmark {
namespace {

bool parse_bound(std::string_view text, double& bound) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bound);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(bound) && bound >= 0;
}

}  // namespace

Window parse_window(std::string_view text) {
  Window window;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !parse_bound(text.substr(0, colon), window.lo) ||
      !parse_bound(text.substr(colon + 1), window.hi)) {
    throw UsageError(fmt::format("'{}' is no window; write LO:HI, such as 0.8:1.0", text));
  }
  if (window.lo > window.hi) {
    throw UsageError(fmt::format("window '{}': {} is more than {}; write LO:HI", text, window.lo, window.hi));
  }
  return window;
}

std::string to_text(const Window& window) {
  return fmt::format("{}:{}", window.lo, window.hi);
}

}  // namespace peakmark
