#include "measure/sweep/nearest_word.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/error.hpp"

namespace peakmark {

namespace {

// Longer input is not a typing error, and the distance takes quadratic time.
constexpr std::size_t kMaxWordLength = 200;
constexpr std::size_t kMaxWordsListed = 24;

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::size_t distance_to(std::string_view word, std::string_view candidate) {
  const std::size_t whole = edit_distance(word, candidate);
  const std::size_t slash = candidate.rfind('/');
  if (slash == std::string_view::npos || word.find('/') != std::string_view::npos) return whole;
  return std::min(whole, edit_distance(word, candidate.substr(slash + 1)));
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    before_last.swap(last);
    last.swap(current);
  }
  return last[b.size()];
}

std::string_view nearest_word(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kMaxWordLength) return {};
  const std::string wanted = lower_case(word);
  const std::size_t farthest = std::max<std::size_t>(1, wanted.size() / 3);
  std::string_view nearest;
  std::size_t nearest_distance = farthest + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = distance_to(wanted, lower_case(candidate));
    if (distance < nearest_distance) {
      nearest = candidate;
      nearest_distance = distance;
    }
  }
  return nearest;
}

std::string suggest_word(std::string_view word, const std::vector<std::string>& candidates) {
  return suggest_word(word, candidates, candidates);
}

std::string suggest_word(std::string_view word, const std::vector<std::string>& candidates,
                         const std::vector<std::string>& known) {
  std::string text;
  if (const std::string_view nearest = nearest_word(word, candidates); !nearest.empty()) {
    text = fmt::format("; did you mean '{}'?", nearest);
  }
  if (known.empty()) return text;
  const std::size_t listed = std::min(known.size(), kMaxWordsListed);
  const bool has_nearest = !text.empty();
  text += has_nearest ? " (known: " : "; known: ";
  for (std::size_t i = 0; i < listed; ++i) text += (i == 0 ? "" : ", ") + known[i];
  if (listed < known.size()) text += fmt::format(", … {} more", known.size() - listed);
  if (has_nearest) text += ")";
  return text;
}

namespace {

/// Maximum number of letters that a typing error removes or adds.
constexpr std::size_t kLettersMore = 2;

/// Returns patterns whose first or last fixed part is replaced by a part of a name.
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

// Backtracking to the last `*` is sufficient, because a longer match of an earlier one cannot help.
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
