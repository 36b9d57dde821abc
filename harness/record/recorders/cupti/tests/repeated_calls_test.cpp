// `record --repeat-call` of a CUDA program, and the kinds of memory and pools that `show` reports of it.
#include <nlohmann/json.hpp>

#include "record/recorders/cupti/tests/recorded_program_testing.hpp"

namespace peakmark {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class RepeatedCalls : public Fakes {
 protected:
  Result repeat(int calls) const {
    return record("--repeat-call " + std::to_string(calls) + " --json -- " PEAKMARK_PROCESS_PROGRAM " repeat",
                  "export LD_LIBRARY_PATH=" PEAKMARK_FAKES "/cupti13:" PEAKMARK_FAKES ";");
  }
  nlohmann::json show() const {
    const std::string line = PEAKMARK_COMMAND " show --json " + profile() + " >" + file("shown");
    EXPECT_EQ(std::system(line.c_str()), 0);
    return nlohmann::json::parse(text(file("shown")));
  }
};

TEST_F(RepeatedCalls, LeaksOfTheDeviceAndOfTheHostAreNamed) {
  const Result result = repeat(6);
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("call, 6 times: leak: 4.5 KiB (4608 B) each time"));
  const nlohmann::json phase = nlohmann::json::parse(result.out)["repetitions"][0];
  const nlohmann::json& growth = phase["growth"];
  ASSERT_EQ(growth.size(), 3U) << growth;
  EXPECT_EQ(growth[0]["kind"], "device");
  EXPECT_EQ(growth[0]["bytes_per_repetition"], 4096);
  // Under TSan, frames of the recorder itself fill the call chain that is shown.
  EXPECT_THAT(growth[0]["where"].get<std::string>(),
              AnyOf(HasSubstr("main"), testing::StartsWith("backtrace")));
  EXPECT_EQ(growth[1]["kind"], "host_write_combined");
  EXPECT_EQ(growth[1]["bytes_per_repetition"], 512);
  EXPECT_EQ(growth[2]["kind"], "pool_async");
  EXPECT_EQ(growth[2]["verdict"], "warm_up");
  EXPECT_EQ(growth[2]["bytes"], 6000);
  EXPECT_EQ(phase["peak_drift_bytes"], 0);
}

TEST_F(RepeatedCalls, EachKindHasItsPeakAndPoolsTheirFragmentation) {
  repeat(6);
  const nlohmann::json shown = show();
  const nlohmann::json& kinds = shown["by_kind"];
  EXPECT_EQ(kinds["device"]["live_at_end_bytes"], 6 * 4096);
  EXPECT_EQ(kinds["host_write_combined"]["peak_bytes"], 6 * 512);
  EXPECT_EQ(kinds["host_mapped"]["peak_bytes"], 256);
  EXPECT_EQ(kinds["managed"]["peak_bytes"], 1000);
  EXPECT_EQ(kinds["pitched"]["allocations"], 6);
  EXPECT_EQ(kinds["pool_async"]["peak_bytes"], 9000);
  EXPECT_FALSE(kinds.contains("host_pinned"));
  const nlohmann::json& pools = shown["pools"];
  EXPECT_EQ(pools["at_end"]["requested_bytes"], 6000);
  for (const char* const moment : {"at_peak", "max_held", "max_fragmentation", "at_end"}) {
    EXPECT_GE(pools[moment]["held_bytes"], pools[moment]["requested_bytes"]);
    EXPECT_EQ(pools[moment]["fragmentation_bytes"].get<long>(),
              pools[moment]["held_bytes"].get<long>() - pools[moment]["requested_bytes"].get<long>());
  }
}

}  // namespace
}  // namespace peakmark
