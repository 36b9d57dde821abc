/// A case: its axes, their values, and the exceptions that its steps may throw.
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
// Each MAJOR version has its own namespace, so that a program that mixes two does not link.
inline namespace api_1 {

/// A number of elements, slices or bytes, 64 bits wide and signed.
using Size = std::int64_t;

/// Throw it if the device has too little memory. The outcome of the case is `out_of_memory`.
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throw it if this device or this variant cannot do the case. The outcome is `unsupported`. For every other
/// exception of a step the outcome is `crashed`, and the next case runs in a new process.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An axis of a variant: a number, as {"nx", 512}, or a word, as {"mode", "edge", {"edge", "wrap"}}.
struct Axis {
  /// An axis of numbers. `what`: a line of help. `lowest`: a suite must not have smaller numbers; by default
  /// 1, or the default number if that is smaller.
  Axis(std::string axis, Size default_number, std::string what = "",
       std::optional<Size> lowest = std::nullopt)
      : name(std::move(axis)),
        default_value(default_number),
        help(std::move(what)),
        minimum(lowest.value_or(default_number < 1 ? default_number : 1)) {}
  /// An axis of words. `words`: the valid words; if empty, any word is valid.
  Axis(std::string axis, std::string default_word, std::vector<std::string> words = {}, std::string what = "")
      : name(std::move(axis)),
        default_value(std::move(default_word)),
        choices(std::move(words)),
        help(std::move(what)) {}

  std::string name;                               ///< letters, digits, - and _, as in suites
  std::variant<Size, std::string> default_value;  ///< omitted in names of cases
  std::vector<std::string> choices;               ///< valid words; empty: any
  std::string help;                               ///< one line
  Size minimum = 1;                               ///< the smallest valid number
};

/// The values of a case: for each axis of the variant the value from the suite, or the default.
class Case {
 public:
  // For the library.
  explicit Case(const peakmark_case& abi) {
    for (const peakmark_value& value : std::span(abi.values, abi.count)) {
      if (value.word != nullptr) {
        values_.emplace_back(value.axis, std::string(value.word));
      } else {
        values_.emplace_back(value.axis, Size{value.number});
      }
    }
  }

  /// Returns the value of an axis of numbers. Throws std::invalid_argument if there is no such axis, or it is
  /// an axis of words.
  [[nodiscard]] Size operator[](std::string_view axis) const {
    const auto* number = std::get_if<Size>(&value(axis));
    if (number == nullptr)
      throw std::invalid_argument("axis '" + std::string(axis) +
                                  "' is a word, not a number: ask for its word()");
    return *number;
  }
  /// Returns the value of an axis of words. Throws std::invalid_argument if there is no such axis, or it is
  /// an axis of numbers.
  [[nodiscard]] const std::string& word(std::string_view axis) const {
    const auto* word = std::get_if<std::string>(&value(axis));
    if (word == nullptr)
      throw std::invalid_argument("axis '" + std::string(axis) +
                                  "' is a number, not a word: ask for it by []");
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
