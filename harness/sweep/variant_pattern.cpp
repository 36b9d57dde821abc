#include "sweep/variant_pattern.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark {
namespace {

/// Letters that a mistake may leave out or put in.
constexpr std::size_t kLettersMore = 2;

/// What a pattern may have meant: its first or its last fixed part as a name has it.
std::vector<std::string> patterns_like(std::string_view pattern, const std::vector<std::string>& names) {
  const std::size_t head = pattern.find('*');
  const std::size_t tail = pattern.size() - pattern.rfind('*') - 1;
  std::vector<std::string> patterns;
  for (const std::string& name : names) {
    const auto from = [](std::size_t length) { return length - std::min(length, kLettersMore); };
    const auto to = [&](std::size_t length) { return std::min(name.size(), length + kLettersMore); };
    if (head > 0)
      for (std::size_t length = from(head); length <= to(head); ++length)
        patterns.push_back(name.substr(0, length) + std::string(pattern.substr(head)));
    if (tail > 0)
      for (std::size_t length = from(tail); length <= to(tail); ++length)
        patterns.push_back(std::string(pattern.substr(0, pattern.size() - tail)) +
                           name.substr(name.size() - length));
  }
  const auto slashes = std::ranges::count(pattern, '/');
  std::erase_if(patterns, [&](const std::string& like) {
    return std::ranges::count(like, '/') != slashes ||
           std::ranges::none_of(names, [&](const std::string& name) { return matches_pattern(like, name); });
  });
  return patterns;
}

}  // namespace

// Only the last `*` is ever tried again: an earlier one that took less can take no less well.
bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t after_star = 0;
  for (std::size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string variant_meant_by(const std::string& name, const std::vector<std::string>& names) {
  if (name.empty() || std::ranges::find(names, name) != names.end()) return name;
  std::vector<std::string> meant;
  std::ranges::copy_if(names, std::back_inserter(meant), [&](const std::string& variant) {
    return variant.ends_with("/" + name) || variant.ends_with("." + name);
  });
  if (meant.size() < 2) return meant.empty() ? "" : meant.front();
  throw UsageError(
      fmt::format("'{}' is short for several variants: {}; write one of them", name, fmt::join(meant, ", ")));
}

std::string suggest_pattern(std::string_view pattern, const std::vector<std::string>& names) {
  if (pattern.find('*') == std::string_view::npos) return suggest_word(pattern, names);
  const std::vector<std::string> patterns = patterns_like(pattern, names);
  return suggest_word(pattern, patterns, names);
}

}  // namespace peakmark
