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
  /// As readable_function() returns it; empty if only the place is known. Of a remark: its text.
  std::string function;
  std::string file;         ///< library or program; of Python the source file; empty if unknown
  std::uint64_t place = 0;  ///< offset in the library; of Python the line
  bool operator==(const CallFrame&) const = default;
};

/// Returns the function at an offset of a library, from its file; empty if it is not known.
using Symbols = std::function<std::string(const std::string& file, std::uint64_t offset)>;

/// Returns the frames of a stack's text in a profile (docs/formats.md), Python's first, each innermost first.
/// Leaves out lines of an unknown form. Calls `symbols` if the recorder found no name.
std::vector<CallFrame> parse_stack(std::string_view text, const Symbols& symbols);

/// Returns one chain of callers, innermost first: without the frames of the recorder, the loader, the driver
/// and their C++ headers (`cl::Buffer`) on top of the caller, and with the Python frames in place of the
/// interpreter's frames that run them.
std::vector<CallFrame> caller_frames(const std::vector<CallFrame>& frames);

/// Returns the native frames of a chain that Python called and that a user recognises: named functions that
/// are no bindings, as those of ctypes or pybind11 are. Of a chain without Python all native frames.
std::vector<CallFrame> native_frames(const std::vector<CallFrame>& chain);

/// Returns the line of Python in the user's own code that is nearest to the allocation: outside of installed
/// packages and the standard library; else the outermost one. Null if the chain has no Python.
const CallFrame* own_frame(const std::vector<CallFrame>& chain);

/// The frames of a chain as text, innermost first, and the bytes that were allocated through it.
struct WeighedChain {
  std::vector<std::string> frames;
  double bytes = 0;  ///< of many shapes: may exceed Size
};

/// Returns how many innermost frames of each chain are wrappers, without which sites differ: frames through
/// which more than half of the different chains go, or more than half of the bytes, with different callers,
/// such as `Array.__init__` of pyopencl. The outermost frame of a chain is none.
std::vector<std::size_t> count_wrappers(const std::vector<WeighedChain>& chains);

/// Returns the place that asked for an allocation, as text_of() prints it: the innermost frame of Python in a
/// stack's text, otherwise the innermost frame that is not the recorder's, the loader's or the driver's;
/// empty if there is none.
std::string call_site(std::string_view stack);

/// Separates the frames of call_chain().
inline constexpr std::string_view kCallerSign = " < ";

/// Returns the innermost frames of a stack's text, innermost first, without folders:
/// `padding.py:88 < nabu_padding.py:64`. Of Python at most 8 lines, own_frame() among them, and before them
/// at most 4 native_frames(); without Python at most 8 native ones: the function's name, or `library+0x1f`.
/// Those of the recorder, the loader and the driver are left out.
std::string call_chain(std::string_view stack, const Symbols& symbols);

/// Returns whether a frame of call_chain() is a line of Python.
bool is_python_line(std::string_view frame);

/// Returns `function (library)`, `library+0x1f`, `function file.py:12` or `[remark]`.
std::string text_of(const CallFrame& frame);

}  // namespace peakmark
