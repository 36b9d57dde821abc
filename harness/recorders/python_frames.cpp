#include "recorders/python_frames.hpp"

#include <dlfcn.h>

#include <atomic>

#include "recorders/python_memory.hpp"
#include "recorders/stack_text.hpp"

namespace peakmark {
namespace {

// The interpreter's objects; their insides are its own.
struct Object;
struct Thread;

/// What is used of the interpreter, by the names that it exports. Found once, then never changed.
struct Python {
  int (*is_initialized)();
  int (*holds_lock)();
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
/// What is known of the interpreter.
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
  // One look where there is no Python.
  if (!find(python.is_initialized, "Py_IsInitialized")) return Found::none;
  const bool whole =
      find(python.holds_lock, "PyGILState_Check") &&
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

/// Holds the interpreter's error, and garbage collection, which could run code of the program's.
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
  add_attribute(python, text, code, "co_qualname", "co_name");  // the former from 3.11 on
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

std::size_t python_frames(char* buffer, std::size_t room) {
  const Found there = found.load(std::memory_order_acquire);
  const Python& python = found_python;
  if (there != Found::older && there != Found::whole) return 0;
  if (python.is_initialized() == 0) return 0;
  if (there == Found::older) {
    StackText text(buffer, room);
    text.field("R").field("python: older than 3.9").end_line();
    return text.bytes();
  }
  constexpr std::size_t kRemark = 64;
  StackText text(buffer, room - kRemark);
  Thread* const mine = python.of_this_thread();
  if (mine == nullptr) return 0;  // a thread that the interpreter does not know
  // Until 3.11 the current thread is the process's, and the check says yes to everybody once there is a
  // second interpreter: so both are asked.
  const bool holds_lock = python.current() == mine && python.holds_lock() != 0;
  if (holds_lock) {
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
