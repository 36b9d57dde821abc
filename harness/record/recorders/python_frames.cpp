#include "record/recorders/python_frames.hpp"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace peakmark {
namespace {

using Byte = unsigned char;

/// Returns false if the memory cannot be read. `carefully`: reads through the kernel, which returns an error
/// where a plain read would crash, but takes microseconds.
bool read_memory(const void* from, void* to, std::size_t bytes, bool carefully) {
  if (!carefully) {
    std::memcpy(to, from, bytes);
    return true;
  }
  const iovec local{to, bytes};
  const iovec remote{const_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

template <typename Value>
Value value_at(const Byte* object, std::size_t offset) {
  Value value;
  std::memcpy(&value, object + offset, sizeof(value));
  return value;
}

constexpr std::size_t kType = 8;  // in every object, after the reference count
constexpr std::size_t kFrameBytes = 120;
constexpr std::size_t kCodeBytes = 208;

}  // namespace

/// Reads the text of a string object. Returns false if it is not one. Text that is not ASCII becomes `?`,
/// because its offsets differ.
bool PythonMemory::read_string(const void* string, char* text, std::size_t capacity, bool carefully) const {
  constexpr std::size_t kLength = 16;
  constexpr std::size_t kState = 32;
  Byte head[40];
  if (!read_memory(string, head, sizeof(head), carefully)) return false;
  if (value_at<const void*>(head, kType) != string_type_) return false;
  const auto length =
      static_cast<std::size_t>(std::max<std::int64_t>(value_at<std::int64_t>(head, kLength), 0));
  const auto state = value_at<std::uint32_t>(head, kState);
  const bool is_compact = (state >> 5U & 1U) != 0;
  const bool is_ascii = (state >> 6U & 1U) != 0;
  const std::size_t bytes = is_compact && is_ascii ? std::min(length, capacity - 1) : 0;
  if (bytes == 0) {
    std::memcpy(text, "?", 2);
    return true;
  }
  text[bytes] = '\0';
  return read_memory(static_cast<const Byte*>(string) + layout_->ascii, text, bytes, carefully);
}

// Offsets from the headers of each version.
constexpr PythonMemory::Layout PythonMemory::kLayouts[] = {
    {.minor = 9,
     .number_bytes = 1,
     .frames = 24,
     .in_c_frame = 0,
     .back = 24,
     .code = 32,
     .instruction = 104,
     .owner = 0,
     .code_start = 0,
     .first_traceable = 0,
     .file = 104,
     .name = 112,
     .ascii = 48,
     .through_c_frame = false},
    {.minor = 10,
     .number_bytes = 2,
     .frames = 24,
     .in_c_frame = 0,
     .back = 24,
     .code = 32,
     .instruction = 96,
     .owner = 0,
     .code_start = 0,
     .first_traceable = 0,
     .file = 104,
     .name = 112,
     .ascii = 48,
     .through_c_frame = false},
    {.minor = 11,
     .number_bytes = 0,
     .frames = 56,
     .in_c_frame = 8,
     .back = 48,
     .code = 32,
     .instruction = 56,
     .owner = 0,
     .code_start = 184,
     .first_traceable = 168,
     .file = 112,
     .name = 128,
     .ascii = 48,
     .through_c_frame = true},
    {.minor = 12,
     .number_bytes = 0,
     .frames = 56,
     .in_c_frame = 0,
     .back = 8,
     .code = 0,
     .instruction = 56,
     .owner = 70,
     .code_start = 192,
     .first_traceable = 176,
     .file = 112,
     .name = 128,
     .ascii = 40,
     .through_c_frame = true},
    {.minor = 13,
     .number_bytes = 0,
     .frames = 72,
     .in_c_frame = 0,
     .back = 8,
     .code = 0,
     .instruction = 56,
     .owner = 70,
     .code_start = 200,
     .first_traceable = 184,
     .file = 112,
     .name = 128,
     .ascii = 40,
     .through_c_frame = false},
    {.minor = 14,
     .number_bytes = 0,
     .frames = 72,
     .in_c_frame = 0,
     .back = 8,
     .code = 0,
     .instruction = 56,
     .owner = 74,
     .code_start = 208,
     .first_traceable = 192,
     .file = 112,
     .name = 128,
     .ascii = 40,
     .through_c_frame = false},
};

bool PythonMemory::find() {
  const auto version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  code_type_ = dlsym(RTLD_DEFAULT, "PyCode_Type");
  string_type_ = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
  line_of_ = reinterpret_cast<int (*)(const void*, int)>(dlsym(RTLD_DEFAULT, "PyCode_Addr2Line"));
  if (version == nullptr || code_type_ == nullptr || string_type_ == nullptr || line_of_ == nullptr)
    return false;
  const char* const text = version();
  if (text == nullptr || std::strncmp(text, "3.", 2) != 0) return false;
  const auto minor = std::strtol(text + 2, nullptr, 10);
  for (const Layout& layout : kLayouts) {
    if (layout.minor == minor) layout_ = &layout;
  }
  return layout_ != nullptr;
}

bool PythonMemory::add_frame(const Byte* frame, StackText& text, bool carefully) const {
  // From 3.14 on, the lowest bit says whether the reference is counted.
  const auto* const code =
      reinterpret_cast<const Byte*>(value_at<std::uintptr_t>(frame, layout_->code) & ~std::uintptr_t{1});
  static_assert(std::ranges::all_of(kLayouts, [](const Layout& one) {
    return std::max({one.file, one.name, one.first_traceable}) + sizeof(std::uint64_t) <= kCodeBytes &&
           std::max(one.instruction + sizeof(void*), one.owner + 1) <= kFrameBytes;
  }));
  Byte copy[kCodeBytes];
  const std::size_t needed =
      std::max({layout_->file, layout_->name, layout_->first_traceable}) + sizeof(std::uint64_t);
  if (!read_memory(code, copy, needed, carefully)) return false;
  if (value_at<const void*>(copy, kType) != code_type_) return false;
  char name[256];
  char file[512];
  if (!read_string(value_at<const void*>(copy, layout_->name), name, sizeof(name), carefully) ||
      !read_string(value_at<const void*>(copy, layout_->file), file, sizeof(file), carefully)) {
    return false;
  }
  const int byte = layout_->code_start == 0
                       ? value_at<std::int32_t>(frame, layout_->instruction) * layout_->number_bytes
                       : static_cast<int>(value_at<const Byte*>(frame, layout_->instruction) -
                                          (code + layout_->code_start));
  // Incomplete frames, and frames of the interpreter itself, are before the first instruction that has a
  // line. Python does not show them either.
  const int first =
      layout_->first_traceable == 0 ? 0 : 2 * value_at<std::int32_t>(copy, layout_->first_traceable);
  if (byte < first) return true;
  // This call only reads the line table of the code object, which is complete and alive.
  const int line = line_of_(code, byte);
  text.field("P").field(name).decimal(line < 0 ? 0 : static_cast<std::uint64_t>(line)).field(file).end_line();
  return true;
}

bool PythonMemory::walk(const void* thread, StackText& text, bool carefully) const {
  constexpr int kMaxFrames = 1000;  // maximum, in case the chain is circular
  constexpr Byte kFirstOfInterpreter = 3;
  const Byte* at = nullptr;
  const auto follow = [&](const void* place) { return read_memory(place, &at, sizeof(at), carefully); };
  if (!follow(static_cast<const Byte*>(thread) + layout_->frames)) return false;
  if (layout_->through_c_frame && (at == nullptr || !follow(at + layout_->in_c_frame))) return false;
  for (int i = 0; at != nullptr && i < kMaxFrames && !text.is_full(); ++i) {
    Byte frame[kFrameBytes];
    const std::size_t needed = std::max(layout_->instruction + sizeof(void*), layout_->owner + 1);
    if (!read_memory(at, frame, needed, carefully)) return false;
    const bool is_own = layout_->owner != 0 && frame[layout_->owner] >= kFirstOfInterpreter;
    if (!is_own && !add_frame(frame, text, carefully)) return false;
    at = value_at<const Byte*>(frame, layout_->back);
  }
  return true;
}

bool PythonMemory::add_frames(const void* thread, StackText& text) {
  if (layout_ == nullptr) return false;
  const StackText before = text;
  const bool is_proven = proven_.load(std::memory_order_relaxed);
  if (!walk(thread, text, !is_proven)) {
    text = before;
    return false;
  }
  if (text.bytes() != before.bytes()) proven_.store(true, std::memory_order_relaxed);
  return true;
}

namespace {

// Opaque objects of the interpreter.
struct Object;
struct Thread;

/// The functions of the interpreter that are used. Found once, then constant.
struct Python {
  int (*is_initialized)();
  int (*holds_gil)();
  Thread* (*current)();
  Thread* (*of_this_thread)();
  Object* (*frame_of)(Thread*);    // a new reference
  Object* (*frame_back)(Object*);  // a new reference
  Object* (*frame_code)(Object*);  // a new reference
  int (*frame_line)(Object*);
  Object* (*attribute)(Object*, const char*);  // a new reference
  const char* (*text_of)(Object*, long* bytes);
  void (*release)(Object*);
  void (*fetch_error)(Object**, Object**, Object**);
  void (*restore_error)(Object*, Object*, Object*);
  void (*clear_error)();
  int (*stop_collecting)();  // from 3.10 on
  int (*start_collecting)();
};

Python found_python;
PythonMemory python_memory;
/// The state of the search for an interpreter.
enum class Found : std::uint8_t { none, looking, older, whole };
std::atomic<Found> found{Found::none};

template <typename Function>
bool find(Function& function, const char* name, const char* older_name = nullptr) {
  void* address = dlsym(RTLD_DEFAULT, name);
  if (address == nullptr && older_name != nullptr) address = dlsym(RTLD_DEFAULT, older_name);
  function = reinterpret_cast<Function>(address);
  return address != nullptr;
}

Found fill(Python& python) {
  // If there is no Python, this is the only lookup.
  if (!find(python.is_initialized, "Py_IsInitialized")) return Found::none;
  const bool whole =
      find(python.holds_gil, "PyGILState_Check") &&
      find(python.current, "PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet") &&
      find(python.of_this_thread, "PyGILState_GetThisThreadState") &&
      find(python.frame_of, "PyThreadState_GetFrame") && find(python.frame_back, "PyFrame_GetBack") &&
      find(python.frame_code, "PyFrame_GetCode") && find(python.frame_line, "PyFrame_GetLineNumber") &&
      find(python.attribute, "PyObject_GetAttrString") && find(python.text_of, "PyUnicode_AsUTF8AndSize") &&
      find(python.release, "Py_DecRef") && find(python.fetch_error, "PyErr_Fetch") &&
      find(python.restore_error, "PyErr_Restore") && find(python.clear_error, "PyErr_Clear");
  find(python.stop_collecting, "PyGC_Disable");
  find(python.start_collecting, "PyGC_Enable");
  python_memory.find();
  return whole ? Found::whole : Found::older;
}

/// Preserves the interpreter's pending error, and pauses garbage collection, which could run code of the
/// program.
class Untouched {
 public:
  explicit Untouched(const Python& python) : python_(python) {
    python_.fetch_error(&type_, &value_, &traceback_);
    if (python_.stop_collecting != nullptr && python_.start_collecting != nullptr) {
      was_collecting_ = python_.stop_collecting() == 1;
    }
  }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;
  ~Untouched() {
    if (was_collecting_) python_.start_collecting();
    python_.restore_error(type_, value_, traceback_);
  }

 private:
  const Python& python_;
  Object* type_ = nullptr;
  Object* value_ = nullptr;
  Object* traceback_ = nullptr;
  bool was_collecting_ = false;
};

void add_attribute(const Python& python, StackText& text, Object* code, const char* name,
                   const char* older_name) {
  Object* value = python.attribute(code, name);
  if (value == nullptr && older_name != nullptr) {
    python.clear_error();
    value = python.attribute(code, older_name);
  }
  const char* const characters = value == nullptr ? nullptr : python.text_of(value, nullptr);
  if (characters == nullptr) python.clear_error();
  text.field(characters == nullptr ? "?" : characters);
  if (value != nullptr) python.release(value);
}

void add_frame(const Python& python, StackText& text, Object* frame) {
  Object* const code = python.frame_code(frame);
  const int line = python.frame_line(frame);
  text.field("P");
  add_attribute(python, text, code, "co_qualname", "co_name");  // co_qualname exists since 3.11
  text.decimal(line < 0 ? 0 : static_cast<std::uint64_t>(line));
  add_attribute(python, text, code, "co_filename", nullptr);
  text.end_line();
  python.release(code);
}

void ask_for_frames(const Python& python, Thread* thread, StackText& text) {
  const Untouched untouched(python);
  Object* frame = python.frame_of(thread);
  while (frame != nullptr && !text.is_full()) {
    add_frame(python, text, frame);
    Object* const outer = python.frame_back(frame);
    python.release(frame);
    frame = outer;
  }
  if (frame != nullptr) python.release(frame);
}

}  // namespace

void look_for_python() {
  Found none = Found::none;
  if (found.load(std::memory_order_relaxed) != none || !found.compare_exchange_strong(none, Found::looking))
    return;
  found.store(fill(found_python), std::memory_order_release);
}

std::size_t python_frames(char* buffer, std::size_t capacity) {
  const Found there = found.load(std::memory_order_acquire);
  const Python& python = found_python;
  if (there != Found::older && there != Found::whole) return 0;
  if (python.is_initialized() == 0) return 0;
  if (there == Found::older) {
    StackText text(buffer, capacity);
    text.field("R").field("python: older than 3.9").end_line();
    return text.bytes();
  }
  constexpr std::size_t kRemark = 64;
  StackText text(buffer, capacity - kRemark);
  Thread* const mine = python.of_this_thread();
  if (mine == nullptr) return 0;  // a thread that the interpreter does not know
  // Up to 3.11 the current thread state is that of the process, and PyGILState_Check is true for every thread
  // once there is a second interpreter. So both are checked.
  const bool holds_gil = python.current() == mine && python.holds_gil() != 0;
  if (holds_gil) {
    ask_for_frames(python, mine, text);
  } else if (!python_memory.add_frames(mine, text)) {
    text.field("R").field("python: not held").end_line();
  }
  if (!text.is_full()) return text.bytes();
  StackText remark(buffer + text.bytes(), kRemark);
  remark.field("R").field("python: deeper than is recorded").end_line();
  return text.bytes() + remark.bytes();
}

}  // namespace peakmark
