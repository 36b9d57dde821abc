#pragma once

#include <optional>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// The reference case, once: ns of a device copy and of a kernel that only computes. Null where not timed.
struct ReferenceTime {
  std::optional<double> copy_ns;
  std::optional<double> arithmetic_ns;
  std::optional<Size> copy_bytes = std::nullopt;  ///< read and written by the copy
  friend bool operator==(const ReferenceTime&, const ReferenceTime&) = default;
};

/// The reference case over a run: whether the machine kept its pace, and what pace it was.
struct ReferenceTimes {
  std::optional<double> first_ns;  ///< the copy, before the cases
  std::optional<double> last_ns;   ///< the copy, after them
  /// All times in the order measured: before, between and after the cases.
  std::vector<double> copy_ns;
  std::vector<double> arithmetic_ns;
  std::optional<Size> copy_bytes = std::nullopt;  ///< read and written by one copy; null without one

  void add(const ReferenceTime& time);
  /// Medians over the run; null where it has none.
  [[nodiscard]] ReferenceTime median() const;
};

}  // namespace peakmark
