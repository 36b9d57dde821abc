#pragma once

#include <cstddef>
#include <cstdint>

#include "record/recorders/open_ranges.hpp"

namespace peakmark::nvtx {

// The part of NVTX's binary interface that ranges need. A program contains its own copy of NVTX version 3,
// which is header-only. The copy loads the library in NVTX_INJECTION64_PATH and passes it a function that
// returns tables of NVTX's calls. From then on NVTX calls the functions that the library writes into these
// tables.

using Function = void (*)();

/// The table kCallbacks. `function_table` returns the functions of a module by number; each entry points to
/// the place for a replacement.
inline constexpr std::uint32_t kCallbacks = 1;
struct Callbacks {
  std::size_t struct_bytes;
  int (*function_table)(int module, Function*** table, unsigned* size);
};
using ExportTable = const void* (*)(std::uint32_t table);

inline constexpr int kCore = 1;
enum CoreCall : unsigned {
  range_start_ex = 4,
  range_start_a = 5,
  range_start_w = 6,
  range_end = 7,
  range_push_ex = 8,
  range_push_a = 9,
  range_push_w = 10,
  range_pop = 11,
};

inline constexpr int kDomains = 5;
enum DomainCall : unsigned {
  domain_range_start_ex = 2,
  domain_range_end = 3,
  domain_range_push_ex = 4,
  domain_range_pop = 5,
  domain_register_string_a = 10,
  domain_register_string_w = 11,
  domain_create_a = 12,
  domain_create_w = 13,
};

enum MessageType : std::int32_t { no_message = 0, ascii = 1, unicode = 2, registered = 3 };

/// The argument of calls with the suffix `Ex`.
struct Attributes {
  std::uint16_t version;
  std::uint16_t bytes;
  std::uint32_t category;
  std::int32_t colour_type;
  std::uint32_t colour;
  std::int32_t payload_type;
  std::int32_t reserved;
  std::uint64_t payload;
  std::int32_t message_type;
  const void* message;
};
static_assert(offsetof(Attributes, message_type) == 32 && offsetof(Attributes, message) == 40);

}  // namespace peakmark::nvtx

namespace peakmark {

/// Converts the NVTX ranges of the program to phases: push/pop and start/end ranges of every domain and
/// thread. A process can contain several copies of NVTX; this is called for each. Returns 1, or 0 if the copy
/// has no such tables.
///
/// With $PEAKMARK_RANGES=words only ranges named `setup`, `inputs`, `outputs`, `call` or `end` are used. A
/// range whose name is almost one of these is reported (RecorderErrorKind::range_left_out).
int hook_nvtx(nvtx::ExportTable export_table);

// NVTX loads only one recorder, but the other one may be recording. If both are in a process, the one that
// NVTX has loaded forwards every range to the other. `this_recorder` is any address inside the calling
// recorder.

/// Called when NVTX has loaded this recorder. Returns what hook_nvtx() returns.
int start_from_nvtx(nvtx::ExportTable export_table, const void* this_recorder);
/// Called through the export kLeadSymbol: forwards ranges to the other recorder.
void forward_ranges(OpenRanges::Begin begin, OpenRanges::End end);
/// Makes the other recorder, if it is loaded, forward its ranges to this one. Called when this recorder has
/// started, and through the export kFollowSymbol.
void request_ranges(const void* this_recorder);

inline constexpr char kLeadSymbol[] = "peakmark_lead_ranges";
inline constexpr char kFollowSymbol[] = "peakmark_follow_ranges";

}  // namespace peakmark
