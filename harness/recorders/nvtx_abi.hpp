#pragma once

#include <cstddef>
#include <cstdint>

namespace peakmark::nvtx {

// As much of NVTX's binary interface as naming phases takes. A program's copy of NVTX (a header of its own,
// of version 3) loads the library that NVTX_INJECTION64_PATH names and hands it a function from which the
// tables of its calls can be asked; whatever stands in a table is called from then on.

using Function = void (*)();

/// Asked with kCallbacks: the functions of a module, by number; a slot points to the place to write to.
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

/// What the calls with `Ex` are given.
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
