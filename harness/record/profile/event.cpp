#include "record/profile/event.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "peakmark/opencl_error.hpp"

namespace peakmark {

const char* to_string(MemoryKind kind) {
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
    case MemoryKind::host_mapped:
      return "host_mapped";
    case MemoryKind::host_write_combined:
      return "host_write_combined";
  }
  return "unknown";  // a profile of a newer recorder
}

const char* to_string(RefusedBy limit) {
  switch (limit) {
    case RefusedBy::driver:
      return "driver";
    case RefusedBy::budget:
      return "budget";
    case RefusedBy::max_allocation:
      return "max_allocation";
  }
  return "driver";
}

std::string_view allocation_error_name(std::int32_t error) {
  if (error < 0) return opencl_error_name(error);
  constexpr auto kNames = std::to_array<std::pair<std::int32_t, std::string_view>>({
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {3, "CUDA_ERROR_NOT_INITIALIZED"},
      {4, "CUDA_ERROR_DEINITIALIZED"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {101, "CUDA_ERROR_INVALID_DEVICE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {400, "CUDA_ERROR_INVALID_HANDLE"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {800, "CUDA_ERROR_NOT_PERMITTED"},
      {801, "CUDA_ERROR_NOT_SUPPORTED"},
      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
  });
  const auto* const found =
      std::ranges::find(kNames, error, &std::pair<std::int32_t, std::string_view>::first);
  return found == kNames.end() ? std::string_view() : found->second;
}

std::string error_text(std::int32_t error) {
  const std::string_view name = allocation_error_name(error);
  return std::to_string(error) + (name.empty() ? "" : " ") + std::string(name);
}

std::string text_of(std::span<const Event> events, std::size_t index) {
  const Event& head = events[index];
  std::size_t left = head.text_bytes;
  std::string text;
  text.reserve(left);
  for (std::size_t i = index; left > 0 && i < events.size(); ++i) {
    const Event& slot = events[i];
    // The continuations are in the next slots. If another event is there, the text was cut off.
    if (i > index && (slot.type != EventType::text || slot.commit != head.commit + (i - index))) break;
    const std::size_t bytes = std::min(left, sizeof(slot.text));
    text.append(slot.text, bytes);
    left -= bytes;
  }
  return text;
}

std::size_t count_whole(std::span<const Event> events) {
  std::size_t head = events.size();
  while (head > 0 && events[head - 1].type == EventType::text) --head;
  if (head == 0) return events.size();
  const Event& last = events[--head];
  const std::size_t slots = (last.text_bytes + sizeof(last.text) - 1) / sizeof(last.text);
  return has_text(last.type) && head + slots > events.size() ? head : events.size();
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
