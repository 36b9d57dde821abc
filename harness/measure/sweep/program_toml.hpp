#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <memory>

#include "measure/sweep/external_estimator.hpp"
#include "measure/sweep/program.hpp"

namespace peakmark {

/// Reads a [[program]] of a suite `file` and checks it. Throws UsageError.
std::shared_ptr<const ProgramDescription> read_program(const toml::table& table,
                                                       const std::filesystem::path& file);

/// Reads an [[estimator]]. Throws UsageError.
std::shared_ptr<const ExternalEstimator> read_external_estimator(const toml::table& table,
                                                                 const std::filesystem::path& file);

}  // namespace peakmark
