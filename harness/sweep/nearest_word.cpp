#include "sweep/nearest_word.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace peakmark {
namespace {

// Longer input is no typing mistake, and the distance is quadratic.
constexpr std::size_t kLongestWord = 200;
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
  if (word.empty() || word.size() > kLongestWord) return {};
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

}  // namespace peakmark
