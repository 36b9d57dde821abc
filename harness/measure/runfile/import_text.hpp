#pragma once

// Internal to import_results.

#include <string>
#include <string_view>
#include <vector>

namespace peakmark::import_sources {

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
