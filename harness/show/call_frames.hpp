#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

/// A line of a recorded call stack.
struct CallFrame {
  enum class Kind : std::uint8_t { native, python, remark };
  Kind kind = Kind::native;
  std::string function;     ///< demangled; empty where only the place is known. Of a remark: its text
  std::string file;         ///< library or program; of Python the source file. Empty where it is unknown
  std::uint64_t place = 0;  ///< offset in the library; of Python the line
  bool operator==(const CallFrame&) const = default;
};

/// The function at an offset of a library, where its file tells; else empty.
using Symbols = std::function<std::string(const std::string& file, std::uint64_t offset)>;

/// The frames of a stack's text as it stands in a profile (docs/formats.md), Python's first, each innermost
/// first. Lines of a form that is not known are left out. `symbols` is asked where the recorder found no
/// name.
std::vector<CallFrame> parse_stack(std::string_view text, const Symbols& symbols);

/// One chain, innermost first, as a reader thinks of it: without what the recorder, the loader and the driver
/// put on top of the caller, and with the Python frames in place of the interpreter's own that run them.
std::vector<CallFrame> caller_frames(const std::vector<CallFrame>& frames);

/// `function (library)`, `library+0x1f`, `function file.py:12`, `[remark]`.
std::string text_of(const CallFrame& frame);

}  // namespace peakmark
