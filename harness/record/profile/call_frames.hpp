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
  /// The name by readable_function(); empty if only the place is known. For a remark, its text.
  std::string function;
  std::string file;         ///< library or program, or Python source file; empty if unknown
  std::uint64_t place = 0;  ///< offset in the library, or line in the Python file
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

/// Returns the native frames of a chain that Python called and that a user recognises: named functions other
/// than bindings such as ctypes or pybind11. For a chain without Python, returns all native frames.
std::vector<CallFrame> native_frames(const std::vector<CallFrame>& chain);

/// Returns what a frame belongs to, if that is not the user's own code: the first folder in site-packages
/// (`pyopencl`), `python3.11` of the standard library, the file of a library of the system or of a package
/// (`libfftw3.so.3`). Empty: the user's own code, which includes packages outside of site-packages, such as
/// editable installations.
std::string package_of(const CallFrame& frame);

/// Separates the frames of call_chain().
inline constexpr std::string_view kCallerSign = " < ";

/// Returns the innermost frames of a stack's text, innermost first: `pyopencl/array.py:2410 < padding.py:61`.
/// Has at most 4 native_frames() that Python called and 8 lines of Python, or without Python at most 8 native
/// frames; then as many frames of the user's own code. A line of a package has its path in site-packages, the
/// user's own lines have no folders. A native frame is the name of the function, followed by the library if
/// it belongs to a package: `fftwf_execute (libfftw3f.so.3)`; without a name `library+0x1f`. Frames of the
/// recorder, the loader and the driver are left out.
std::string call_chain(std::string_view stack, const Symbols& symbols);

/// Returns whether a frame of call_chain() is a line of Python.
bool is_python_line(std::string_view frame);

/// Returns `function (library)`, `library+0x1f`, `function file.py:12`, `function package/file.py:12` or
/// `[remark]`.
std::string text_of(const CallFrame& frame);

/// Returns the name of a function as people write it, from a symbol of a linker or its demangled text:
/// `plan::Filter::make` of `void plan::Filter<float>::make(int) const`. Leaves out return types, parameters,
/// template arguments and anonymous namespaces; shortens names of more than 80 characters in the middle.
std::string readable_function(const std::string& symbol);

}  // namespace peakmark
