#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <memory>

#include "sweep/external_estimator.hpp"
#include "sweep/program.hpp"

namespace peakmark {

/// One [[program]] of a suite `file`; its form, axes and placeholders are checked. Throws UsageError.
std::shared_ptr<const ProgramDescription> read_program(const toml::table& table,
                                                       const std::filesystem::path& file);

/// One [[estimator]]. Throws UsageError.
std::shared_ptr<const ExternalEstimator> read_external_estimator(const toml::table& table,
                                                                 const std::filesystem::path& file);

}  // namespace peakmark
