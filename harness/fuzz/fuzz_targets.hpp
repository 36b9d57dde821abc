#pragma once

#include <span>
#include <string_view>

namespace peakmark {

/// A reader of untrusted text or bytes.
struct FuzzTarget {
  std::string_view name;  ///< also the name of its folder in `corpus/`
  /// Reads one input and shows or judges the result in one of kFuzzForms forms, because all forms of each
  /// input would take most of the time. Catches UsageError, the result of a wrong input; any other exception
  /// is an error of the reader.
  void (*read)(std::string_view input, unsigned form);
};

inline constexpr unsigned kFuzzForms = 6;

std::span<const FuzzTarget> fuzz_targets();

}  // namespace peakmark
