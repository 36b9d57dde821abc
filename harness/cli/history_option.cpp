#include "cli/history_option.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/value_name.hpp"

namespace peakmark::cli {

void add_history_option(CLI::App& command, std::string& history) {
  command
      .add_option("--history", history,
                  "SQLite file or postgresql://…, where runs are kept; else $PEAKMARK_HISTORY")
      ->type_name(value_name::kHistory);
}

std::unique_ptr<history::History> open_history(const std::string& option, history::History::Purpose purpose) {
  std::string place = option;
  if (const char* const set = std::getenv("PEAKMARK_HISTORY"); place.empty() && set != nullptr) place = set;
  if (place.empty()) {
    throw UsageError("which history? Name a file or postgresql://… with --history, or set PEAKMARK_HISTORY");
  }
  auto opened = std::make_unique<history::History>(history::parse_address(place), purpose);
  if (const auto version = opened->migrated_from()) {
    print_message(stderr, "{}: brought up to date from version {}; an older peakmark cannot read it now\n",
                  opened->address().name(), *version);
  }
  return opened;
}

}  // namespace peakmark::cli
