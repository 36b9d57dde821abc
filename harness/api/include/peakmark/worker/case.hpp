/// A case: its axes, their values, and the exceptions that its steps may throw.
#pragma once

#include <concepts>
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

/// The value of an axis: an integer, a word or a floating-point number.
using AxisValue = std::variant<Size, std::string, double>;

/// An axis of a variant: of integers, as {"nx", 512}, of floating-point numbers, as {"sigma", 1.5}, or of
/// words, as {"mode", "edge", {"edge", "wrap"}}.
struct Axis {
  /// An axis of integers. `what`: a line of help. `lowest`: a suite must not have smaller numbers; by default
  /// 1, or the default number if that is smaller.
  Axis(std::string axis, Size default_number, std::string what = "",
       std::optional<Size> lowest = std::nullopt)
      : name(std::move(axis)),
        default_value(default_number),
        help(std::move(what)),
        minimum(lowest.value_or(default_number < 1 ? default_number : 1)) {}
  /// An axis of floating-point numbers, which are finite. `mistake` of the variant may refuse some of them.
  template <std::floating_point Number>
  Axis(std::string axis, Number default_number, std::string what = "")
      : name(std::move(axis)), default_value(double{default_number}), help(std::move(what)) {}
  /// An axis of words. `words`: the valid words; if empty, any word is valid.
  Axis(std::string axis, std::string default_word, std::vector<std::string> words = {}, std::string what = "")
      : name(std::move(axis)),
        default_value(std::move(default_word)),
        choices(std::move(words)),
        help(std::move(what)) {}

  std::string name;                  ///< letters, digits, - and _, as in suites
  AxisValue default_value;           ///< omitted in names of cases
  std::vector<std::string> choices;  ///< valid words; empty: any
  std::string help;                  ///< one line
  Size minimum = 1;                  ///< the smallest valid integer
};

/// The values of a case: for each axis of the variant the value from the suite, or the default.
class Case {
 public:
  /// Makes a case with these values, for tests of estimators: Case({{"n", 20}, {"dtype", "f32"}}).
  explicit Case(std::vector<std::pair<std::string, AxisValue>> values) : values_(std::move(values)) {}
  // For the library.
  explicit Case(const peakmark_case& abi) {
    for (const peakmark_value& value : std::span(abi.values, abi.count)) {
      if (value.type == PEAKMARK_WORD) {
        values_.emplace_back(value.axis, std::string(value.value.word));
      } else if (value.type == PEAKMARK_FLOAT) {
        values_.emplace_back(value.axis, value.value.floating);
      } else {
        values_.emplace_back(value.axis, Size{value.value.integer});
      }
    }
  }

  /// Returns the value of an axis of integers. Throws std::invalid_argument if there is no such axis, or it
  /// is of another type.
  [[nodiscard]] Size operator[](std::string_view axis) const { return get<Size>(axis, "an integer"); }
  /// Returns the value of an axis of floating-point numbers. Throws std::invalid_argument if there is no such
  /// axis, or it is of another type.
  [[nodiscard]] double real(std::string_view axis) const {
    return get<double>(axis, "a floating-point number");
  }
  /// Returns the value of an axis of words. Throws std::invalid_argument if there is no such axis, or it is
  /// of another type.
  [[nodiscard]] const std::string& word(std::string_view axis) const {
    return get<std::string>(axis, "a word");
  }

 private:
  template <typename Value>
  [[nodiscard]] const Value& get(std::string_view axis, const std::string& wanted) const {
    const AxisValue& found = value(axis);
    if (const Value* const held = std::get_if<Value>(&found)) return *held;
    const std::string is = std::holds_alternative<Size>(found)
                               ? "an integer, not " + wanted + ": read it with []"
                           : std::holds_alternative<double>(found)
                               ? "a floating-point number, not " + wanted + ": read it with real()"
                               : "a word, not " + wanted + ": read it with word()";
    throw std::invalid_argument("axis '" + std::string(axis) + "' is " + is);
  }
  [[nodiscard]] const AxisValue& value(std::string_view axis) const {
    for (const auto& [name, value] : values_) {
      if (name == axis) return value;
    }
    std::string known;
    for (const auto& [name, value] : values_) known += (known.empty() ? "" : ", ") + name;
    throw std::invalid_argument("the variant has no axis '" + std::string(axis) + "'; it has " +
                                (known.empty() ? "none" : known));
  }

  std::vector<std::pair<std::string, AxisValue>> values_;
};

}  // namespace api_1
}  // namespace peakmark
