#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// The type of an event. The numbers are in profiles on disk: never renumber, only append.
enum class EventType : std::uint8_t {
  allocation = 1,  ///< succeeded: `address`, `bytes`, `kind`
  failed_allocation =
      2,        ///< refused: `bytes`, `kind`, `result` (the API's error code); address: kRepeatsMask
  release = 3,  ///< `address`
  name = 4,     ///< `text` names the allocation at `address`
  phase = 5,    ///< from here on the program is in phase `text`
  text = 6,     ///< continues the text of the slot before it (32 bytes per slot)
  pool = 7,     ///< `bytes` reserved by the pool `address` now, `auxiliary` used
  note = 8,   ///< `text`: a message of the recorder (an extension that it does not record, a refused extent)
  stack = 9,  ///< `text` is the call stack whose id is `address`
  /// The device worked on a command: for `bytes` ns, enqueued at `auxiliary` ns of CLOCK_MONOTONIC. `address`
  /// is 1, which no memory has.
  work = 10,
  // In folded profiles only (`record --compact`; fold() of harness/record/ledger), which begin with a `live`:
  /// The live bytes of `kind` on `device` changed by `bytes`, through allocations that are only counted.
  live = 11,
  /// Stands for a number (`auxiliary`) of events with `bytes` in total; `result` is a FoldedCount.
  folded = 12,
  /// `text` names the devices whose memory has the number `address` in Amounts::device: a line for each,
  /// `0 PLATFORM: NAME`, with the number of the device in this process.
  device = 13,
};

/// Returns whether an event has a text.
constexpr bool has_text(EventType type) {
  return type == EventType::name || type == EventType::phase || type == EventType::note ||
         type == EventType::stack || type == EventType::device;
}

/// What a `folded` event counts.
enum class FoldedCount : std::int32_t {
  allocations = 0,         ///< of `kind` on `device`, in the current phase
  unmatched_releases = 1,  ///< of addresses without a recorded allocation
  refused_releases = 2,    ///< by the driver
};

/// The part of a failed allocation's `address` that counts the equal requests that were folded into it. A
/// recorder writes 0.
inline constexpr std::uint64_t kRepeatsMask = (std::uint64_t{1} << 48U) - 1;

/// Which limit refused an allocation: `auxiliary` of a failed allocation. The numbers are on disk.
enum class RefusedBy : std::uint8_t {
  driver = 0,          ///< its own
  budget = 1,          ///< $PEAKMARK_BUDGET, or a refusal by `oom`
  max_allocation = 2,  ///< $PEAKMARK_MAX_ALLOCATION, the limit of one allocation
};
/// Returns `driver`, `budget` or `max_allocation`, as in JSON.
const char* to_string(RefusedBy limit);

/// The kind of memory. counts_into_peak() returns whether a kind counts in the peak. The numbers are on disk.
enum class MemoryKind : std::uint8_t {
  none = 0,              ///< of events other than allocations
  buffer = 1,            ///< OpenCL buffer
  image = 2,             ///< OpenCL image
  svm = 3,               ///< OpenCL shared virtual memory
  pipe = 4,              ///< OpenCL pipe
  alloc_host_ptr = 5,    ///< OpenCL buffer or image with CL_MEM_ALLOC_HOST_PTR
  host_pointer = 6,      ///< OpenCL memory over the program's own (CL_MEM_USE_HOST_PTR): beside the peak
  gl_shared = 7,         ///< OpenCL memory over an OpenGL object
  view = 8,              ///< sub-buffer, image over a buffer: 0 bytes of its own
  device = 16,           ///< CUDA cuMemAlloc*
  pitched = 17,          ///< CUDA cuMemAllocPitch
  pool_async = 18,       ///< CUDA cuMemAllocAsync, cuMemAllocFromPoolAsync
  array = 19,            ///< CUDA array or mipmapped array
  managed = 20,          ///< CUDA managed
  physical = 21,         ///< CUDA cuMemCreate; mapping it (cuMemMap) adds nothing
  host_pinned = 22,      ///< CUDA cuMemHostAlloc without flags, cuMemAllocHost: beside the peak
  host_registered = 23,  ///< CUDA cuMemHostRegister: beside the peak
  usm_device = 24,       ///< Intel's clDeviceMemAllocINTEL
  usm_shared = 25,       ///< Intel's clSharedMemAllocINTEL
  usm_host = 26,         ///< Intel's clHostMemAllocINTEL: beside the peak
  /// CUDA: variables of loaded modules (__device__, __constant__): beside the peak, since a module stays
  /// loaded from one call or case to the next.
  module_globals = 27,
  host_mapped = 28,          ///< CUDA cuMemHostAlloc with DEVICEMAP: beside the peak
  host_write_combined = 29,  ///< CUDA cuMemHostAlloc with WRITECOMBINED, mapped or not: beside the peak
};

/// Returns true for the kinds that add up to the peak; the others are reported beside it, never in it.
constexpr bool counts_into_peak(MemoryKind kind) {
  return kind != MemoryKind::none && kind != MemoryKind::host_pointer && kind != MemoryKind::host_pinned &&
         kind != MemoryKind::host_registered && kind != MemoryKind::usm_host &&
         kind != MemoryKind::module_globals && kind != MemoryKind::host_mapped &&
         kind != MemoryKind::host_write_combined;
}

/// Size of an array with a place for each kind: more than MemoryKind has.
inline constexpr std::size_t kKindSlots = 32;

/// Returns the place of a kind in such an array; an unknown number gets the place of `none`.
constexpr std::size_t slot_of(MemoryKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  return number < kKindSlots ? number : 0;
}

/// Returns the name of a kind in files and tables: `buffer`, `host_pointer`, …
const char* to_string(MemoryKind kind);

/// Returns the name of the error with which an allocation was refused (`CL_INVALID_BUFFER_SIZE`,
/// `CUDA_ERROR_OUT_OF_MEMORY`); empty if it is not known. OpenCL's errors are negative, CUDA's positive.
std::string_view allocation_error_name(std::int32_t error);

/// Returns `-61 CL_INVALID_BUFFER_SIZE`, for tables; the number alone if the name is not known.
std::string error_text(std::int32_t error);

/// One slot of a profile: 64 bytes, so that a slot is a cache line. Written by any thread, in the order of
/// the slots that the threads reserved.
struct Event {
  std::uint64_t commit = 0;   ///< index of this slot + 1, stored last; anything else: not (yet) written
  std::int64_t time_ns = 0;   ///< CLOCK_MONOTONIC
  std::uint64_t address = 0;  ///< handle (cl_mem) or device pointer; reused over time
  std::uint32_t thread = 0;   ///< kernel's thread id
  EventType type{};
  MemoryKind kind = MemoryKind::none;
  std::uint16_t text_bytes = 0;  ///< of the whole text, over its continuation slots
  struct Amounts {
    std::int64_t bytes;
    std::int64_t auxiliary;  ///< CUDA: stream or pool handle; otherwise 0, or RefusedBy
    /// For a failed allocation, the API's error code. For an allocation, 0; or the code with which the driver
    /// refused the release before it: then it is not a new allocation, but memory that is live again.
    std::int32_t result;
    std::uint32_t device;  ///< whose memory it is: see EventType::device
    std::uint64_t stack;   ///< for an allocation, also a failed one, id of its call stack; 0: not recorded
  };
  union {
    Amounts amounts{};
    char text[32];
  };
};
static_assert(sizeof(Event) == 64 && std::is_trivially_copyable_v<Event>);

/// The address of `pool` events for the graph memory of a device, to which the ordinal of the device is
/// added. No pool has such an address. The allocations of graphs are not in the profile.
inline constexpr std::uint64_t kGraphMemoryPool = 0xffff'ffff'ffff'0000;

/// `bytes` and `auxiliary` of a `pool` event if the driver did not report them. The bytes in pools are then
/// unknown for the whole profile, because a later figure would hide the gap.
inline constexpr std::int64_t kUnknownPoolBytes = -1;

/// Returns which limit refused a failed allocation. An unknown number counts as the driver.
inline RefusedBy refused_by(const Event& event) {
  const std::int64_t limit = event.amounts.auxiliary;
  return limit == 1 || limit == 2 ? static_cast<RefusedBy>(limit) : RefusedBy::driver;
}

/// The beginning of a note after which the recording cannot be trusted: the recorder lost its source.
inline constexpr std::string_view kInvalidNote = "invalid:";

/// The beginning of a note that names what the program allocates unseen by the recorder.
inline constexpr std::string_view kNotCountedNote = "not counted:";

/// Returns the first note that begins with kInvalidNote; empty if there is none.
std::string invalid_note(std::span<const Event> events);

/// Returns the whole text of the name, phase, note or stack `events[index]`, its continuation slots included.
std::string text_of(std::span<const Event> events, std::size_t index);

/// Returns the number of complete events: all, or those before a last text that lacks continuations.
std::size_t count_whole(std::span<const Event> events);

/// Source of the events of this process, to which a trial adds marks: the recorder that is loaded into this
/// process, or the allocation log of the `dry` backend.
class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  virtual void phase(std::string_view name) = 0;
  virtual void name(std::uint64_t address, std::string_view name) = 0;
  /// From now on, each allocation of this thread contains so many bytes of guards, which are not recorded. 0
  /// ends it.
  virtual void guards(Size /*bytes*/) {}
  /// Returns the number of events so far, an index for `events`.
  [[nodiscard]] virtual std::uint64_t count() const = 0;
  /// Returns the events from index `first` on.
  [[nodiscard]] virtual std::vector<Event> events(std::uint64_t first) = 0;
};

}  // namespace peakmark
