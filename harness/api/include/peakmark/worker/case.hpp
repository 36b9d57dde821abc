/// What a case is made of: its axes, and the values that one case has of them; and what a step may throw.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "peakmark/worker_abi.h"

namespace peakmark {
// A name of its own for each version: two of them never meet in one program unseen.
inline namespace api_1 {

/// Numbers of elements, slices and bytes, of 64 bits.
using Size = std::int64_t;

/// Throw it where the device has no room: the outcome of the case is `out_of_memory`, and nobody's fault.
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throw it for a case that this device or this variant cannot do: the outcome is `unsupported`. Anything
/// else that a step throws is the outcome `crashed`, and the case after it gets a new process.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An axis of a variant: a number, as {"nx", 512}, or a word, as {"mode", "edge", {"edge", "wrap"}}.
struct Axis {
  /// An axis of numbers. `what`: a line of help. `at_least`: a smaller number is a mistake of the suite; left
  /// out, 1, or the default where that is smaller.
  Axis(std::string axis, Size default_number, std::string what = "",
       std::optional<Size> at_least = std::nullopt)
      : name(std::move(axis)),
        default_value(default_number),
        help(std::move(what)),
        least(at_least.value_or(default_number < 1 ? default_number : 1)) {}
  /// An axis of words. `words`: those that go; without them any does.
  Axis(std::string axis, std::string default_word, std::vector<std::string> words = {}, std::string what = "")
      : name(std::move(axis)),
        default_value(std::move(default_word)),
        choices(std::move(words)),
        help(std::move(what)) {}

  std::string name;                               ///< of letters, digits, - and _, as suites write it
  std::variant<Size, std::string> default_value;  ///< names of cases leave the axis out where it has that
  std::vector<std::string> choices;               ///< of words; none: any word
  std::string help;                               ///< a line of it
  Size least = 1;                                 ///< of numbers
};

/// The values of a case, one an axis of its variant: the suite's, else the default.
class Case {
 public:
  // For the library.
  explicit Case(const peakmark_case& seam) {
    for (const peakmark_value& value : std::span(seam.values, seam.count)) {
      if (value.word != nullptr) {
        values_.emplace_back(value.axis, std::string(value.word));
      } else {
        values_.emplace_back(value.axis, Size{value.number});
      }
    }
  }

  /// The value of an axis of numbers. Throws std::invalid_argument where the axis is not there, or of words.
  [[nodiscard]] Size operator[](std::string_view axis) const {
    const auto* number = std::get_if<Size>(&value(axis));
    if (number == nullptr)
      throw std::invalid_argument("axis '" + std::string(axis) +
                                  "' is a word, no number: ask for its word()");
    return *number;
  }
  /// The value of an axis of words. Throws std::invalid_argument where the axis is not there, or of numbers.
  [[nodiscard]] const std::string& word(std::string_view axis) const {
    const auto* word = std::get_if<std::string>(&value(axis));
    if (word == nullptr)
      throw std::invalid_argument("axis '" + std::string(axis) + "' is a number, no word: ask for it by []");
    return *word;
  }

 private:
  [[nodiscard]] const std::variant<Size, std::string>& value(std::string_view axis) const {
    for (const auto& [name, value] : values_) {
      if (name == axis) return value;
    }
    std::string known;
    for (const auto& [name, value] : values_) known += (known.empty() ? "" : ", ") + name;
    throw std::invalid_argument("the variant has no axis '" + std::string(axis) + "'; it has " +
                                (known.empty() ? "none" : known));
  }

  std::vector<std::pair<std::string, std::variant<Size, std::string>>> values_;
};

}  // namespace api_1
}  // namespace peakmark
