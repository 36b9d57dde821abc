#pragma once

#include <string>
#include <variant>
#include <vector>

#include "measure/sweep/parameters.hpp"
#include "peakmark/worker/case.hpp"

namespace peakmark {

/// Returns a case with these values, for tests of functions that take one.
inline Case make_case(const Parameters& parameters) {
  std::vector<peakmark_value> values;
  for (const auto& [axis, value] : parameters.values()) {
    const auto* word = std::get_if<std::string>(&value);
    values.push_back({axis.c_str(), word == nullptr ? nullptr : word->c_str(),
                      word == nullptr ? std::get<Size>(value) : 0});
  }
  return Case({values.data(), values.size()});
}

}  // namespace peakmark
