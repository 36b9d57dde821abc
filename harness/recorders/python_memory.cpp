#include "recorders/python_memory.hpp"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace peakmark {
namespace {

using Byte = unsigned char;

/// False where it cannot be read. `carefully`: through the kernel, which refuses where a plain read would
/// crash, and takes microseconds.
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

constexpr std::size_t kType = 8;  // in every object, after its count of references
constexpr std::size_t kFrameBytes = 120;
constexpr std::size_t kCodeBytes = 192;

}  // namespace

/// The text of a string object; false where there is none. Other characters than ASCII become a `?`: they lie
/// at other places.
bool PythonMemory::read_string(const void* string, char* text, std::size_t room, bool carefully) const {
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
  const std::size_t bytes = is_compact && is_ascii ? std::min(length, room - 1) : 0;
  if (bytes == 0) {
    std::memcpy(text, "?", 2);
    return true;
  }
  text[bytes] = '\0';
  return read_memory(static_cast<const Byte*>(string) + layout_->ascii, text, bytes, carefully);
}

// From the headers of each version.
const PythonMemory::Layout PythonMemory::kLayouts[] = {
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
  const auto* const code = value_at<const Byte*>(frame, layout_->code);
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
  // Frames that are still being made, and those of the interpreter's own code, stand before the first
  // instruction that has a line; Python does not show them either.
  const int first =
      layout_->first_traceable == 0 ? 0 : 2 * value_at<std::int32_t>(copy, layout_->first_traceable);
  if (byte < first) return true;
  // It only reads the table of lines of the code, which is whole and alive.
  const int line = line_of_(code, byte);
  text.field("P").field(name).decimal(line < 0 ? 0 : static_cast<std::uint64_t>(line)).field(file).end_line();
  return true;
}

bool PythonMemory::walk(const void* thread, StackText& text, bool carefully) const {
  constexpr int kMaxFrames = 1000;  // should what looks like a chain be a ring
  constexpr Byte kOfTheInterpreter = 3;
  const Byte* at = nullptr;
  const auto follow = [&](const void* place) { return read_memory(place, &at, sizeof(at), carefully); };
  if (!follow(static_cast<const Byte*>(thread) + layout_->frames)) return false;
  if (layout_->through_c_frame && (at == nullptr || !follow(at + layout_->in_c_frame))) return false;
  for (int i = 0; at != nullptr && i < kMaxFrames && !text.is_full(); ++i) {
    Byte frame[kFrameBytes];
    const std::size_t needed = std::max(layout_->instruction + sizeof(void*), layout_->owner + 1);
    if (!read_memory(at, frame, needed, carefully)) return false;
    const bool is_own = layout_->owner != 0 && frame[layout_->owner] == kOfTheInterpreter;
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

}  // namespace peakmark
