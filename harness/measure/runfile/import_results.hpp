#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/private_text.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {

/// The key of an imported run's environment (RunContext) with the name of the program.
inline constexpr const char* kImportedFrom = "imported from";

/// The user's options about results of another program. Null: the value in the file.
struct ImportOptions {
  std::string commit;               ///< empty: unknown
  std::optional<std::string> date;  ///< UTC, in the form of RunContext::date
  std::optional<std::string> device;
  std::optional<std::string> backend;
  std::optional<std::string> suite;
  /// The counter, field or summary with the peak of device memory in bytes. Null: those known to be device
  /// memory.
  std::optional<std::string> peak_counter;
};

struct ImportedResults {
  std::vector<Run> runs;           ///< complete; one for each device
  std::vector<std::string> notes;  ///< for the user
};

/// Reads JSON of Google Benchmark or nvbench (docs/ci.md). The id of a run is computed from the file and the
/// device, so that the same file is the same run. Host names and paths are omitted, and removed from
/// messages. Throws UsageError with the file for anything else, and for missing or impossible values.
ImportedResults import_results(const std::filesystem::path& path, const ImportOptions& options,
                               const PrivateTexts& texts);

}  // namespace peakmark
