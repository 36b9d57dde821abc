#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// The value of an axis: an integer (a size, a pad, a shift), a word (a mode, a dtype), or a finite
/// floating-point number (a sigma, an angle).
using AxisValue = std::variant<Size, std::string, double>;

/// The value of a formula, or of an axis that a formula may read.
using Number = std::variant<Size, double>;

/// Returns the shortest text that reads back as the number, with a point or an exponent: `1.0`, `0.1`,
/// `1e+16`. Python's repr() returns the same text.
std::string float_text(double number);
std::string to_text(const AxisValue& value);

/// Returns the finite number in `text`, which must contain nothing else. -0 becomes 0, so that equal values
/// have the same text. Returns nullopt for other text, `nan`, `inf`, and a number that does not fit.
std::optional<double> parse_float(std::string_view text);

/// Returns whether the two are the same value of an axis. The integer 1 is the same as 1.0, because a suite
/// may write either for a floating-point axis.
bool is_same_value(const AxisValue& one, const AxisValue& other);

/// The axes of a case with their values, in the variant's order. Equal pairs of all cases share one pair in
/// memory, which is never released: even a suite of a million cases has few different ones.
class AxisList {
 public:
  using value_type = std::pair<std::string, AxisValue>;

  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = AxisList::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    const_iterator() = default;
    explicit const_iterator(const value_type* const* place) : place_(place) {}
    reference operator*() const { return **place_; }
    pointer operator->() const { return *place_; }
    const_iterator& operator++() {
      ++place_;
      return *this;
    }
    const_iterator operator++(int) { return const_iterator(place_++); }
    friend bool operator==(const const_iterator&, const const_iterator&) = default;

   private:
    const value_type* const* place_ = nullptr;
  };

  [[nodiscard]] const_iterator begin() const { return const_iterator(pairs_.data()); }
  [[nodiscard]] const_iterator end() const { return const_iterator(pairs_.data() + pairs_.size()); }
  [[nodiscard]] std::size_t size() const { return pairs_.size(); }
  [[nodiscard]] bool empty() const { return pairs_.empty(); }
  /// Replaces the value of the axis, or appends the axis.
  void set(value_type pair);
  void reserve(std::size_t size) { pairs_.reserve(size); }
  friend bool operator==(const AxisList&, const AxisList&) = default;  // equal pairs have the same address

 private:
  std::vector<const value_type*> pairs_;
};

/// The axis values of one case, including defaults. Copies share their list, because a run has several copies
/// of each.
class Parameters {
 public:
  using Values = std::vector<AxisList::value_type>;

  Parameters() = default;
  /// If an axis occurs twice, the last value counts.
  explicit Parameters(Values values);

  /// Throw UsageError with the axis if it is missing or has the other type.
  [[nodiscard]] Size integer(std::string_view axis) const;
  [[nodiscard]] const std::string& word(std::string_view axis) const;
  /// Returns the value of an axis of integers or floating-point numbers.
  [[nodiscard]] Number number(std::string_view axis) const;
  [[nodiscard]] const AxisValue* find(std::string_view axis) const;
  /// Sets the value in this copy only.
  void set(std::string_view axis, AxisValue value);

  [[nodiscard]] const AxisList& values() const;
  friend bool operator==(const Parameters& one, const Parameters& other) {
    return one.values_ == other.values_ || one.values() == other.values();
  }
  /// Shares the values of `other` if they are equal.
  void share(const Parameters& other) {
    if (*this == other) values_ = other.values_;
  }

 private:
  std::shared_ptr<AxisList> values_;  ///< null: no axes
};

/// Returns the axes whose values are words or floating-point numbers. `explain` finds a formula of the
/// integer axes for each combination of their values.
Parameters choice_axes(const Parameters& parameters);

/// Returns the end of a message about a size that does not fit 64 bits: `; the largest axis is pad_x0 =
/// 4611686018427387904`. The size is a product of many axes, and its error names none of them. Empty without
/// an integer axis.
std::string largest_axis_note(const Parameters& parameters);

}  // namespace peakmark
