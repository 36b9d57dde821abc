#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// The value of an axis: an integer (a size, a pad, a shift) or a word (a mode, a dtype).
using AxisValue = std::variant<Size, std::string>;

std::string to_text(const AxisValue& value);

/// The axis values of one case, with defaults, in the variant's order. Copies share their values: a suite of
/// a million cases has several copies of each.
class Parameters {
 public:
  using Values = std::vector<std::pair<std::string, AxisValue>>;

  Parameters() = default;
  explicit Parameters(std::vector<std::pair<std::string, AxisValue>> values)
      : values_(std::make_shared<Values>(std::move(values))) {}

  /// Throw UsageError with the axis if it is missing or of the other type.
  [[nodiscard]] Size integer(std::string_view axis) const;
  [[nodiscard]] const std::string& word(std::string_view axis) const;
  [[nodiscard]] const AxisValue* find(std::string_view axis) const;
  /// Sets the value in this copy only.
  void set(std::string_view axis, AxisValue value);

  [[nodiscard]] const Values& values() const;
  friend bool operator==(const Parameters& one, const Parameters& other) {
    return one.values_ == other.values_ || one.values() == other.values();
  }
  /// Shares the values of `other` if they are equal.
  void share(const Parameters& other) {
    if (*this == other) values_ = other.values_;
  }

 private:
  std::shared_ptr<Values> values_;  ///< null: no axes
};

/// Returns the axes whose values are words.
Parameters word_axes(const Parameters& parameters);

/// Returns the end of a message about a size that does not fit 64 bits: `; the largest axis is pad_x0 =
/// 4611686018427387904`. The size is a product of many axes, and its error names none. Empty without an
/// integer.
std::string largest_axis_note(const Parameters& parameters);

}  // namespace peakmark
