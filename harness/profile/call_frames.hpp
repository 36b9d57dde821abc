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
  std::string function;     ///< demangled; empty if only the place is known. Of a remark: its text
  std::string file;         ///< library or program; of Python the source file; empty if unknown
  std::uint64_t place = 0;  ///< offset in the library; of Python the line
  bool operator==(const CallFrame&) const = default;
};

/// Returns the function at an offset of a library, from its file; empty if it is not known.
using Symbols = std::function<std::string(const std::string& file, std::uint64_t offset)>;

/// Returns the frames of a stack's text in a profile (docs/formats.md), Python's first, each innermost first.
/// Leaves out lines of an unknown form. Calls `symbols` if the recorder found no name.
std::vector<CallFrame> parse_stack(std::string_view text, const Symbols& symbols);

/// Returns one chain of callers, innermost first: without the frames of the recorder, the loader and the
/// driver on top of the caller, and with the Python frames in place of the interpreter's frames that run
/// them.
std::vector<CallFrame> caller_frames(const std::vector<CallFrame>& frames);

/// Returns the place that asked for an allocation, as text_of() prints it: the innermost frame of Python in a
/// stack's text, otherwise the innermost frame that is not the recorder's, the loader's or the driver's;
/// empty if there is none.
std::string call_site(std::string_view stack);

/// Separates the frames of call_chain().
inline constexpr std::string_view kCallerSign = " < ";

/// Returns the innermost frames of a stack's text, innermost first, without folders:
/// `padding.py:88 < nabu_padding.py:64`. Python's frames if there are any, else native ones: the function's
/// name without parameters, or `library+0x1f`; not those of the recorder, the loader and the driver. At most
/// 8 frames.
std::string call_chain(std::string_view stack, const Symbols& symbols);

/// Returns `function (library)`, `library+0x1f`, `function file.py:12` or `[remark]`.
std::string text_of(const CallFrame& frame);

}  // namespace peakmark
