// peakmark-compare-accounts CALLBACKS RECORDS: exit 0 when the two profiles of one process agree to the byte.
#include <cstdio>

#include "base/error.hpp"
#include "record/ledger/compare_accounts.hpp"
#include "record/profile/profile.hpp"

int main(int argc, char** argv) {
  using namespace peakmark;
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s PROFILE PROFILE.activity\n", argv[0]);
    return static_cast<int>(ExitCode::usage);
  }
  try {
    const auto callbacks = ProfileReader(argv[1]).events();
    const auto records = ProfileReader(argv[2]).events();
    if (callbacks.empty() || records.empty()) {
      std::fprintf(stderr, "%s: no events to compare\n", callbacks.empty() ? argv[1] : argv[2]);
      return static_cast<int>(ExitCode::nothing);
    }
    const auto differences = compare_accounts(callbacks, records);
    for (const std::string& line : differences) std::printf("%s\n", line.c_str());
    std::printf("%zu events by callbacks, %zu by records, %zu differences\n", callbacks.size(),
                records.size(), differences.size());
    return static_cast<int>(differences.empty() ? ExitCode::clean : ExitCode::verdict);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", final_message(error).c_str());
    return static_cast<int>(exit_code_of(error));
  }
}
