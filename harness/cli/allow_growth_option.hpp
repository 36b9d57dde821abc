#pragma once

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/size.hpp"
#include "cli/value_name.hpp"

namespace peakmark::cli {

/// --allow-growth, of every command that judges growth of bytes.
inline CLI::Option* add_allow_growth_option(CLI::App& command, std::optional<std::string>& text) {
  return command
      .add_option("--allow-growth", text,
                  "Growth of a peak that is no regression: bytes or a percentage, such as 64KiB or 0.1%; "
                  "default: 0")
      ->type_name(value_name::kGrowth);
}

/// What was typed. UsageError that names the option.
inline GrowthAllowance allowed_growth(const std::optional<std::string>& text) {
  if (!text) return {};
  try {
    return parse_growth_allowance(*text);
  } catch (const Error& error) {
    throw UsageError(fmt::format("--allow-growth: {}", error.what()));
  }
}

}  // namespace peakmark::cli
