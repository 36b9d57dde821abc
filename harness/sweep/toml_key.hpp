#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace peakmark {

/// The key whose value reaches to this place of a text, dotted where it stands in an inline table, as it is
/// written: for what the TOML parser itself refuses, of which it tells only the place. Lines and columns
/// count from 1. Empty where no value is being read.
std::string key_at(std::string_view toml, std::uint32_t line, std::uint32_t column);

}  // namespace peakmark
