#pragma once

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

/// Axis values of one case, in the order in which the variant declares its axes, defaults included.
class Parameters {
 public:
  Parameters() = default;
  explicit Parameters(std::vector<std::pair<std::string, AxisValue>> values) : values_(std::move(values)) {}

  /// Throw UsageError, naming the axis, when it is not there or of the other type.
  [[nodiscard]] Size integer(std::string_view axis) const;
  [[nodiscard]] const std::string& word(std::string_view axis) const;
  [[nodiscard]] const AxisValue* find(std::string_view axis) const;
  void set(std::string_view axis, AxisValue value);

  [[nodiscard]] const std::vector<std::pair<std::string, AxisValue>>& values() const { return values_; }
  friend bool operator==(const Parameters&, const Parameters&) = default;

 private:
  std::vector<std::pair<std::string, AxisValue>> values_;
};

/// The end of a message about a size that does not fit 64 bits: `; the largest axis is pad_x0 =
/// 4611686018427387904`. The bytes are a product of many axes, and the message of the product names none.
/// Empty without an integer.
std::string largest_axis_note(const Parameters& parameters);

}  // namespace peakmark
