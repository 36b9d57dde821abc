#pragma once

#include <atomic>
#include <cstddef>

#include "recorders/stack_text.hpp"

namespace peakmark {

/// Python's frames of a thread that has given the interpreter's lock away: as ctypes, CuPy, torch and most
/// bindings in C++ do around a call. Nothing of the interpreter may be called then that counts references.
/// But nobody changes the frames of a thread while it is in that call, and they keep their code and its names
/// alive: so they can be read, at the places where the known versions (3.9 to 3.13) have them.
///
/// Never a guess: a frame counts only when what stands there is a code object with names that are strings, by
/// the addresses of their types; anything else, such as a build of another layout, ends the walk without
/// frames. Until a walk has succeeded, memory is read through the kernel, which refuses where a plain read
/// would crash.
class PythonMemory {
 public:
  /// False where this interpreter cannot be read so: another version, or types that it does not export.
  bool find();

  /// Adds the frames, innermost first. False, with nothing added, where they cannot be read. `thread` is the
  /// calling thread's own PyThreadState.
  bool add_frames(const void* thread, StackText& text);

 private:
  struct Layout {
    int minor;               ///< of Python 3
    int number_bytes;        ///< of an instruction, where `instruction` is a number; else 0
    std::size_t frames;      ///< in the thread: the innermost frame, or a pointer to where that stands
    std::size_t in_c_frame;  ///< in what that points to
    std::size_t back;        ///< in a frame: the outer one
    std::size_t code;
    std::size_t instruction;      ///< a pointer, or a number
    std::size_t owner;            ///< who has it: 3 is the interpreter itself; 0: no frame is its own
    std::size_t code_start;       ///< in a code object: of the instructions
    std::size_t first_traceable;  ///< the first instruction with a line; 0: unknown
    std::size_t file;
    std::size_t name;
    std::size_t ascii;     ///< in a string of ASCII: of its characters
    bool through_c_frame;  ///< `frames` is a pointer to where it stands
  };
  static const Layout kLayouts[];

  bool walk(const void* thread, StackText& text, bool carefully) const;
  bool add_frame(const unsigned char* frame, StackText& text, bool carefully) const;
  bool read_string(const void* string, char* text, std::size_t room, bool carefully) const;

  const Layout* layout_ = nullptr;
  const void* code_type_ = nullptr;
  const void* string_type_ = nullptr;
  int (*line_of_)(const void* code, int byte) = nullptr;
  std::atomic<bool> proven_{false};  // the layout, by a walk that succeeded
};

}  // namespace peakmark
