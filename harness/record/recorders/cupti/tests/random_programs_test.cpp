// Tests with random programs: the profile must agree with the program's own count. README.md says how to run
// more of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/files_testing.hpp"
#include "record/launch/record_program.hpp"
#include "record/ledger/ledger.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {
namespace {

std::string variable(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

class RandomPrograms : public testing::Test {
 protected:
  RandomPrograms() { setenv("LD_LIBRARY_PATH", PEAKMARK_FAKES "/cupti13:" PEAKMARK_FAKES, 1); }

  /// Records a program. Returns the differences between its profile and its own count.
  std::string what_is_off(const std::string& command) const {
    const std::string counted = folder_.path() / "counted";
    RecordRequest request;
    request.command = {"sh", "-c", "exec " + command + " >" + counted};
    request.profile = folder_.path() / "profile";
    const Recording recording = record_program(request, find_recorder_libraries({PEAKMARK_RECORDERS}));
    if (!recording.error.empty() || recording.program_code != 0)
      return "exit code " + std::to_string(recording.program_code) + " " + recording.error;
    ProfileReader reader(*recording.profile);
    const std::vector<Event> events = reader.events();
    const LedgerSummary summary = summarise(events);
    std::ifstream own(counted);
    std::int64_t peak = 0;
    std::int64_t live = 0;
    std::int64_t failed = 0;
    own >> peak >> live >> failed;
    std::ostringstream text;
    if (!own) text << "no account ";
    if (!reader.complete()) text << "not complete ";
    if (summary.peak_bytes != peak) text << "peak " << summary.peak_bytes << " is " << peak << ' ';
    if (summary.live_at_end_bytes != live)
      text << "live " << summary.live_at_end_bytes << " is " << live << ' ';
    if (summary.failed_allocations != failed)
      text << "failed " << summary.failed_allocations << " are " << failed;
    std::int64_t on_device[2];
    if (own >> on_device[0] >> on_device[1]) {
      for (const std::uint32_t device : {0U, 1U}) {
        const std::int64_t recorded = live_on(device, events);
        if (recorded != on_device[device])
          text << "device " << device << " live " << recorded << " is " << on_device[device] << ' ';
      }
    }
    return text.str();
  }

 private:
  static std::int64_t live_on(std::uint32_t device, const std::vector<Event>& events) {
    std::map<std::uint64_t, std::int64_t> live;
    std::int64_t sum = 0;
    for (const Event& event : events) {
      if (event.type == EventType::release) live.erase(event.address);
      if (event.type != EventType::allocation) continue;
      const bool counts = counts_into_peak(event.kind) && event.amounts.device == device;
      live[event.address] = counts ? event.amounts.bytes : 0;
    }
    for (const auto& [address, bytes] : live) sum += bytes;
    return sum;
  }

  TemporaryFolder folder_;
};

TEST_F(RandomPrograms, AgreeWithTheirOwnAccount) {
  const std::string triggers = variable("PEAKMARK_TRIGGERS", "all");
  const int first = std::stoi(variable("PEAKMARK_FIRST_SEED", "1"));
  const int programs = std::stoi(variable("PEAKMARK_RANDOM_PROGRAMS", PEAKMARK_DEFAULT_PROGRAMS));
  int wrong = 0;
  for (int seed = first; seed < first + programs; ++seed) {
    const std::string command = PEAKMARK_RANDOM_PROGRAM " " + std::to_string(seed) + " " + triggers;
    const std::string off = what_is_off(command);
    if (off.empty()) continue;
    ++wrong;
    ADD_FAILURE() << command << ": " << off;
  }
  std::printf("%d of %d random programs are exact: %s\n", programs - wrong, programs, triggers.c_str());
}

}  // namespace
}  // namespace peakmark
