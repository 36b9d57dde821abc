#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace peakmark {

/// A regular expression (ECMAScript). A copy is cheap. Safe to use from several threads.
///
/// std::regex takes three seconds of compilation: only pattern.cpp includes it.
class Pattern {
 public:
  enum class Letters : std::uint8_t { exact, any_case };
  using Groups = std::vector<std::optional<std::string>>;

  /// Throws UsageError with the reason if the expression is malformed.
  explicit Pattern(const std::string& expression, Letters letters = Letters::exact);

  /// Returns whether the whole text matches.
  [[nodiscard]] bool matches(const std::string& text) const;
  /// Returns whether a part of the text matches.
  [[nodiscard]] bool is_in(const std::string& text) const;
  /// Returns the groups if the whole text matches, with the text itself first; null if it does not match.
  [[nodiscard]] std::optional<Groups> groups(const std::string& text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace peakmark
