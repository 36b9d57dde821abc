#pragma once

// For .cpp files only.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compare/moved_allocations.hpp"
#include "runfile/json_fields.hpp"

namespace peakmark {

/// Returns an entry of `allocations`: name, kind and size, with the number on each side.
inline json_fields::Json moved_json(const std::string& name, std::string_view kind, Size bytes,
                                    std::int64_t base_count, std::int64_t new_count) {
  return {
      {"name", name}, {"kind", kind}, {"bytes", bytes}, {"base_count", base_count}, {"new_count", new_count}};
}

inline json_fields::Json moved_json(const std::vector<MovedAllocations>& moved) {
  json_fields::Json list = json_fields::Json::array();
  for (const MovedAllocations& one : moved) {
    list.push_back(moved_json(one.name, to_string(one.kind), one.bytes, one.base_count, one.new_count));
  }
  return list;
}

}  // namespace peakmark
