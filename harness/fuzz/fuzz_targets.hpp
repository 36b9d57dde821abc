#pragma once

#include <span>
#include <string_view>

namespace peakmark {

/// A reader of text or bytes that others wrote.
struct FuzzTarget {
  std::string_view name;  ///< and that of its folder in `corpus/`
  /// Reads one input, and hands what was read to what shows or judges it in a form, of kFuzzForms: all forms
  /// of each input would take most of the time. UsageError is an answer to a wrong input and is caught;
  /// whatever else is thrown is an error of the reader.
  void (*read)(std::string_view input, unsigned form);
};

inline constexpr unsigned kFuzzForms = 6;

std::span<const FuzzTarget> fuzz_targets();

}  // namespace peakmark
