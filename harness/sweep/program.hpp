#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sweep/description.hpp"
#include "sweep/source_location.hpp"

namespace peakmark {

/// A program that a suite measures as a variant: any command, run under the recorder (docs/suites.md).
struct ProgramDescription {
  SourceLocation place;
  /// As of a variant of a worker, so that everything after it is the same for both.
  VariantDescription variant;
  /// Program and arguments, or with `shell` one text for /bin/sh. Texts have placeholders: `{nx}`.
  std::vector<std::string> command;
  bool shell = false;
  /// NAME and value, with placeholders, added to the environment.
  std::vector<std::pair<std::string, std::string>> environment;
  /// A Python environment: a folder under $PEAKMARK_ENVIRONMENTS, or with a `/` a path from the suite's
  /// folder; empty: the system's.
  std::string python;
  std::string python_made_by;  ///< the command that makes it, for whoever has it not; may be empty
  bool sync = false;           ///< memory passes finish the queue after each enqueue
  bool device_time = false;    ///< the time of a call is that of the device, as the recorder sees it
  std::filesystem::path suite_folder;
  std::string estimator;  ///< its own: the name of an external estimator; may be empty
};

/// Beside the axes, what placeholders stand for.
struct ProgramPlaces {
  std::string suite_folder;
  std::string python;          ///< the interpreter
  std::string backend;         ///< of the case
  std::string device;          ///< index of the run's device, of its backend
  std::string scratch_folder;  ///< empty, and gone after the program
};

/// The names that no axis of a program may have.
const std::vector<std::string>& program_place_names();

/// Throws UsageError with the text and what is wrong with it: a brace without its other, an unknown
/// placeholder with the nearest. `{{` and `}}` are braces.
void check_placeholders(std::string_view text, const VariantDescription& variant);

/// Writes a value as it is to be read where the text before it ends.
using QuoteValue = std::function<std::string(const std::string& value, std::string_view before)>;

/// `text` with its placeholders filled in, each value passed through `quote`.
std::string fill_placeholders(std::string_view text, const Parameters& parameters,
                              const ProgramPlaces& places, const QuoteValue& quote);

/// The command of a case, ready to be run without a shell: with `shell`, /bin/sh -c and the text, values as
/// the shell must read them, also inside the quotes of the suite. UsageError for a value that cannot be
/// written between backticks.
std::vector<std::string> make_command(const ProgramDescription& program, const Parameters& parameters,
                                      const ProgramPlaces& places);

}  // namespace peakmark
