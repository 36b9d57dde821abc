#include "base/dtype.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.hpp"

namespace peakmark {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  std::string_view numpy_name;
  Size bytes;
};

// In the order of DType.
constexpr std::array<Entry, 12> kEntries{{{DType::u8, "u8", "uint8", 1},
                                          {DType::i8, "i8", "int8", 1},
                                          {DType::u16, "u16", "uint16", 2},
                                          {DType::i16, "i16", "int16", 2},
                                          {DType::u32, "u32", "uint32", 4},
                                          {DType::i32, "i32", "int32", 4},
                                          {DType::u64, "u64", "uint64", 8},
                                          {DType::i64, "i64", "int64", 8},
                                          {DType::f32, "f32", "float32", 4},
                                          {DType::f64, "f64", "float64", 8},
                                          {DType::c64, "c64", "complex64", 8},
                                          {DType::c128, "c128", "complex128", 16}}};

const Entry& entry(DType dtype) {
  return kEntries.at(static_cast<std::size_t>(dtype));
}

// Returns null if there is no such type.
const Entry* find_entry(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kEntries, [&](const Entry& one) { return one.name == name || one.numpy_name == name; });
  return found == kEntries.end() ? nullptr : found;
}

}  // namespace

Size size_of(DType dtype) {
  return entry(dtype).bytes;
}

std::string_view to_string(DType dtype) {
  return entry(dtype).name;
}

std::string_view numpy_name(DType dtype) {
  return entry(dtype).numpy_name;
}

DType parse_dtype(std::string_view name) {
  if (const Entry* const found = find_entry(name)) return found->dtype;
  std::vector<std::string_view> names;
  for (const Entry& one : kEntries) names.push_back(one.name);
  throw UsageError(fmt::format("'{}' is not a dtype; write one of {}", name, fmt::join(names, ", ")));
}

std::string our_dtype_name(std::string_view name) {
  const Entry* const found = find_entry(name);
  return std::string(found == nullptr ? name : found->name);
}

std::string numpy_dtype_name(std::string_view name) {
  const Entry* const found = find_entry(name);
  return std::string(found == nullptr ? name : found->numpy_name);
}

}  // namespace peakmark
