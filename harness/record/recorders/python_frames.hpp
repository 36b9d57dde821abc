#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace peakmark {

/// Writes lines of text into the caller's buffer, without the heap. A line that does not fit is dropped, and
/// ends the text.
class StackText {
 public:
  StackText(char* buffer, std::size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  [[nodiscard]] std::size_t bytes() const { return line_; }
  [[nodiscard]] bool is_full() const { return full_; }

  /// Adds a field of at most `max_bytes`. Tabs and line ends, which separate fields and lines, become spaces.
  StackText& field(const char* text, std::size_t max_bytes = 1024) {
    if (end_ != line_) character('\t');
    for (std::size_t i = 0; i < max_bytes && text[i] != '\0'; ++i) {
      character(text[i] == '\t' || text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
    }
    return *this;
  }
  StackText& hexadecimal(std::uint64_t number) { return digits(number, 16); }
  StackText& decimal(std::uint64_t number) { return digits(number, 10); }

  /// Returns false if the line does not fit.
  bool end_line() {
    character('\n');
    if (full_) {
      end_ = line_;
      return false;
    }
    line_ = end_;
    return true;
  }

 private:
  void character(char one) {
    if (end_ == capacity_) full_ = true;
    if (!full_) buffer_[end_++] = one;
  }
  StackText& digits(std::uint64_t number, unsigned base) {
    char text[24];
    char* first = text + sizeof(text) - 1;
    *first = '\0';
    do {
      *--first = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    return field(first);
  }

  char* buffer_;
  std::size_t capacity_;
  std::size_t line_ = 0;  // start of the current line
  std::size_t end_ = 0;
  bool full_ = false;
};

/// Writes the Python frames of the calling thread into `text`, innermost first, as lines of a stack's text
/// (see docs/formats.md). Returns the number of bytes, 0 if there is no interpreter in this process or this
/// thread runs no Python.
///
/// If the thread holds the GIL, the interpreter's public C API is called, with functions that are looked up
/// by name: one recorder supports every Python from 3.9 on. The interpreter's state does not change: a
/// pending error stays, the recorder's own errors are dropped, and garbage collection is paused. If the
/// thread has released the GIL, the frames are read from memory (PythonMemory). If that is not possible, the
/// text is one line that says so.
std::size_t python_frames(char* text, std::size_t capacity);

/// Looks for an interpreter, unless one was found before. Separate from `python_frames`, because it is slow
/// in a program without Python.
void look_for_python();

/// Reads the Python frames of a thread that has released the GIL, as ctypes, CuPy, torch and most C++
/// bindings do around a call. API functions that count references must not be called then. But no other
/// thread changes the frames of a thread during that call, and the frames keep their code objects and names
/// alive. So they can be read at the offsets of the known versions (3.9 to 3.14).
///
/// Nothing is guessed: a frame is used only if its code object and its names have the type addresses of code
/// and string objects. Anything else, such as a build with another layout, ends the walk without frames.
/// Until the first walk has succeeded, memory is read through the kernel, which returns an error where a
/// plain read would crash.
class PythonMemory {
 public:
  /// Returns false if this interpreter cannot be read: its version is unknown, or it does not export the
  /// types.
  bool find();

  /// Adds the frames, innermost first. Returns false and adds nothing if they cannot be read. `thread` is the
  /// calling thread's own PyThreadState.
  bool add_frames(const void* thread, StackText& text);

 private:
  struct Layout {
    int minor;               ///< of Python 3
    int number_bytes;        ///< bytes of an instruction if `instruction` is an index; else 0
    std::size_t frames;      ///< in the thread state: the innermost frame, or a pointer to it
    std::size_t in_c_frame;  ///< offset in the struct that `frames` points to
    std::size_t back;        ///< in a frame: the outer frame
    std::size_t code;
    std::size_t instruction;  ///< a pointer, or an index
    std::size_t owner;        ///< the owner: values from 3 on mean the interpreter itself; 0: no such field
    std::size_t code_start;   ///< in a code object: the instructions
    std::size_t first_traceable;  ///< the first instruction with a line; 0: unknown
    std::size_t file;
    std::size_t name;
    std::size_t ascii;     ///< in an ASCII string: its characters
    bool through_c_frame;  ///< `frames` points to a struct with the frame
  };
  static const Layout kLayouts[];

  bool walk(const void* thread, StackText& text, bool carefully) const;
  bool add_frame(const unsigned char* frame, StackText& text, bool carefully) const;
  bool read_string(const void* string, char* text, std::size_t capacity, bool carefully) const;

  const Layout* layout_ = nullptr;
  const void* code_type_ = nullptr;
  const void* string_type_ = nullptr;
  int (*line_of_)(const void* code, int byte) = nullptr;
  std::atomic<bool> proven_{false};  // a walk with this layout has succeeded
};

}  // namespace peakmark
