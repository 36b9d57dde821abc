#pragma once

// Internal to import_results.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/runfile/import_results.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark::import_sources {

using json_fields::Json;

/// A file to import.
struct Source {
  const Json& json;
  std::string fingerprint;  ///< of its text
  const ImportOptions& options;
  PrivateTexts texts;
};

ImportedResults read_google_benchmark(Source source);
ImportedResults read_nvbench(const Source& source);

/// Returns a complete run without cases. `id_part` differs for each run of a file.
Run begin_run(const Source& source, const std::string& id_part);
void add_case(Run& run, Observation observation);
/// Sets the fingerprint. Throws UsageError if the run has no case, or two with the same name.
void end_run(Run& run);
/// Throws UsageError.
[[noreturn]] void refuse_equal_names(const std::string& name);

/// Returns bytes that are a whole number from 0 to 2^53. Throws UsageError for other numbers.
Size checked_bytes(double bytes, std::string_view what, const std::string& case_name);
/// Adds a counter of another program as a metric. Its name has `_` for each character that a metric's name
/// cannot have. Left out: values that are not finite, names that are taken (add_metric()).
void add_counter(Observation& observation, std::string name, double value, std::string_view direction = "");
/// Returns the file name of a program, without its folder; empty if the value is not a text.
std::string program_name_of(const Json& value);

/// The text of a file to import.
struct ImportText {
  std::string json;                ///< UTF-8
  std::vector<std::string> notes;  ///< for the user: what was not JSON, and which release writes it
};

/// Returns the text as JSON, although some releases of Google Benchmark write something else: `inf`, `2%`,
/// `1,234,000`, `d:\halt`, a missing comma. NaN and infinity become null. UTF-16, which PowerShell writes for
/// a redirected output, becomes UTF-8; bytes that are not UTF-8 become U+FFFD. Valid JSON stays unchanged;
/// other errors are left to the parser. Takes linear time.
ImportText json_text(std::string_view text);

}  // namespace peakmark::import_sources
