#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "record/profile/call_frames.hpp"

namespace peakmark {

inline CallFrame native(std::string function, std::string file = "/opt/program", std::uint64_t place = 16) {
  return {CallFrame::Kind::native, std::move(function), std::move(file), place};
}
inline CallFrame python(std::string function, std::uint64_t line) {
  return {CallFrame::Kind::python, std::move(function), "/home/me/filter.py", line};
}
inline CallFrame remark(std::string text) {
  return {CallFrame::Kind::remark, std::move(text), "", 0};
}

}  // namespace peakmark
