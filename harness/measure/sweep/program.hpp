#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "measure/sweep/description.hpp"
#include "measure/sweep/source_location.hpp"

namespace peakmark {

/// A program that a suite measures as a variant: any command, run under the recorder (docs/suites.md).
struct ProgramDescription {
  SourceLocation place;
  /// Described like a variant of a worker.
  VariantDescription variant;
  /// Program and arguments. They may contain placeholders: `{nx}`.
  std::vector<std::string> command;
  /// Names and values, with placeholders, that are added to the environment.
  std::vector<std::pair<std::string, std::string>> environment;
  /// A Python environment: a folder in $PEAKMARK_ENVIRONMENTS, or with a `/` a path relative to the suite.
  /// Empty: the system's Python.
  std::string python;
  std::string python_made_by;  ///< the command that creates it, for messages; may be empty
  /// Dtype of the output, or the word axis that has it. Empty: unknown, so that no rule judges it.
  std::string output_dtype;
  bool sync = false;         ///< memory passes finish each command before the next
  bool device_time = false;  ///< times are measured by the device, from the recorder
  std::filesystem::path suite_folder;
  std::string estimator;  ///< the name of an external estimator; may be empty
};

/// Values of the placeholders that are not axes.
struct ProgramPlaces {
  std::string suite_folder;
  std::string python;          ///< the interpreter
  std::string backend;         ///< of the case
  std::string device;          ///< index of the run's device within its backend
  std::string scratch_folder;  ///< empty, and removed after the program
};

/// Returns the names that axes of programs must not have.
const std::vector<std::string>& program_place_names();

/// Throws UsageError for unbalanced braces and for unknown placeholders, with the nearest one. `{{` and `}}`
/// stand for braces.
void check_placeholders(std::string_view text, const VariantDescription& variant);

/// Returns `text` with its placeholders replaced.
std::string fill_placeholders(std::string_view text, const Parameters& parameters,
                              const ProgramPlaces& places);

/// Returns the command of a case as words.
std::vector<std::string> make_command(const ProgramDescription& program, const Parameters& parameters,
                                      const ProgramPlaces& places);

}  // namespace peakmark
