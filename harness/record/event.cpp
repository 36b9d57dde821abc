#include "record/event.hpp"

#include <algorithm>

namespace peakmark {

const char* name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::none:
      return "none";
    case MemoryKind::buffer:
      return "buffer";
    case MemoryKind::image:
      return "image";
    case MemoryKind::svm:
      return "svm";
    case MemoryKind::pipe:
      return "pipe";
    case MemoryKind::alloc_host_ptr:
      return "alloc_host_ptr";
    case MemoryKind::host_pointer:
      return "host_pointer";
    case MemoryKind::gl_shared:
      return "gl_shared";
    case MemoryKind::view:
      return "view";
    case MemoryKind::device:
      return "device";
    case MemoryKind::pitched:
      return "pitched";
    case MemoryKind::pool_async:
      return "pool_async";
    case MemoryKind::array:
      return "array";
    case MemoryKind::managed:
      return "managed";
    case MemoryKind::physical:
      return "physical";
    case MemoryKind::host_pinned:
      return "host_pinned";
    case MemoryKind::host_registered:
      return "host_registered";
    case MemoryKind::usm_device:
      return "usm_device";
    case MemoryKind::usm_shared:
      return "usm_shared";
    case MemoryKind::usm_host:
      return "usm_host";
    case MemoryKind::module_globals:
      return "module_globals";
  }
  return "unknown";  // a profile of a newer recorder
}

std::string text_of(std::span<const Event> events, std::size_t index) {
  const Event& head = events[index];
  std::size_t left = head.text_bytes;
  std::string text;
  text.reserve(left);
  for (std::size_t i = index; left > 0 && i < events.size(); ++i) {
    const Event& slot = events[i];
    // The continuations are the very next slots; anything else is a text that was cut off.
    if (i > index && (slot.type != EventType::text || slot.commit != head.commit + (i - index))) break;
    const std::size_t bytes = std::min(left, sizeof(slot.text));
    text.append(slot.text, bytes);
    left -= bytes;
  }
  return text;
}

std::string invalid_note(std::span<const Event> events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].type != EventType::note) continue;
    std::string text = text_of(events, i);
    if (text.starts_with(kInvalidNote)) return text;
  }
  return "";
}

}  // namespace peakmark
