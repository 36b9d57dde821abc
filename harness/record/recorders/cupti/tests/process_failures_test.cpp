// Recordings of programs that do not end normally, or in which CUPTI does not.
#include <algorithm>

#include "record/ledger/device_use.hpp"
#include "record/recorders/cupti/tests/recorded_program_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kMega = 1'000'000;
constexpr const char* kProgram = PEAKMARK_PROCESS_PROGRAM " ";
constexpr const char* kBoth = PEAKMARK_FAKES "/cupti13:" PEAKMARK_FAKES "/cupti12";

class ProcessFailures : public Fakes {
 protected:
  Result end(const std::string& how, const std::string& variables = "",
             const std::string& cupti = PEAKMARK_FAKES "/cupti13") const {
    return run(kProgram + how, variables, cupti);
  }
  void expect_recorded(std::int64_t peak, std::int64_t live, bool complete) const {
    ASSERT_TRUE(std::filesystem::exists(profile()));
    ProfileReader reader(profile());
    const LedgerSummary summary = summarise(reader.events());
    EXPECT_EQ(summary.peak_bytes, peak);
    EXPECT_EQ(summary.live_at_end_bytes, live);
    EXPECT_EQ(reader.complete() && invalid_note(summary).empty(), complete);
  }
  std::string recorder() const { return ProfileReader(profile()).header().recorder; }
  std::int64_t count_of(EventType type) const {
    ProfileReader reader(profile());
    return std::ranges::count(reader.events(), type, &Event::type);
  }
};

TEST_F(ProcessFailures, NoneOfACleanProgram) {
  const Result result = end("clean");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "goes on\n");
  EXPECT_EQ(result.err, "");
  expect_recorded(15 * kMega, 0, true);
}

TEST_F(ProcessFailures, ASecondDriverIsNamed) {
  const Result result = end("second " PEAKMARK_SECOND_DRIVER);
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("allocates through the further CUDA driver " PEAKMARK_SECOND_DRIVER));
}

TEST_F(ProcessFailures, MemoryAndContextAreNotReleased) {
  EXPECT_EQ(end("nothing").code, 0);
  expect_recorded(15 * kMega, 15 * kMega, true);
}

TEST_F(ProcessFailures, TheProgramsExitCodeStays) {
  EXPECT_EQ(end("seven").code, 7);
  expect_recorded(15 * kMega, 15 * kMega, true);
  EXPECT_EQ(end("seven", "FAKE_CUPTI_SUBSCRIBER=nsys").code, 7);
}

TEST_F(ProcessFailures, UnderscoreExitLeavesAProfileThatIsNotClosed) {
  EXPECT_EQ(end("_exit").code, 4);
  expect_recorded(10 * kMega, 10 * kMega, false);
}

TEST_F(ProcessFailures, AKillLeavesAProfileThatIsNotClosed) {
  const Result result = end("kill");
  EXPECT_EQ(result.code, 128 + 9);
  EXPECT_THAT(result.err, HasSubstr("ended by signal 9"));
  expect_recorded(10 * kMega, 10 * kMega, false);
}

TEST_F(ProcessFailures, ARefusedAllocationIsCounted) {
  EXPECT_EQ(end("refused").code, 0);
  EXPECT_EQ(summarise(ProfileReader(profile()).events()).failed_allocations, 1);
}

TEST_F(ProcessFailures, TheDriverRefusesTheAllocationOfANumber) {
  const Result result = end("clean", "PEAKMARK_REFUSE=2");
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(result.err, "cuMemAlloc(&address, bytes): CUDA error 2\n");
  ProfileReader reader(profile());
  const LedgerSummary summary = summarise(reader.events());
  EXPECT_EQ(summary.peak_bytes, 10 * kMega) << "nothing of what was occupied";
  ASSERT_EQ(summary.refused.size(), 1U);
  EXPECT_EQ(summary.refused[0].bytes, 5 * kMega);
  EXPECT_EQ(summary.refused[0].refused_by, RefusedBy::budget);
  EXPECT_EQ(end("clean", "PEAKMARK_REFUSE=3").code, 0) << "it makes two";
  expect_recorded(15 * kMega, 0, true);
}

TEST_F(ProcessFailures, AnotherSubscriberIsNamed) {
  const Result result = end("", "FAKE_CUPTI_SUBSCRIBER='Nsight Systems'");
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.out, "goes on\n");
  EXPECT_THAT(result.err, AllOf(HasSubstr("CUPTI already has a subscriber, Nsight Systems"),
                                HasSubstr("run without it")));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  EXPECT_FALSE(std::filesystem::exists(profile()));
}

TEST_F(ProcessFailures, AnUnnamedSubscriberIsGuessed) {
  const Result result = end("", "FAKE_CUPTI_SUBSCRIBER=");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr("such as Nsight, cuda-gdb, compute-sanitizer"));
  // Another library would have the same subscriber.
  EXPECT_EQ(end("", "FAKE_CUPTI_REFUSES=13:39", kBoth).code, 5);
}

TEST_F(ProcessFailures, TheCuptiThatTheProgramHasLoadedIsUsed) {
  EXPECT_EQ(end("cupti12", "", kBoth).code, 0);
  expect_recorded(15 * kMega, 15 * kMega, true);
  EXPECT_EQ(recorder(), "cupti 24");
}

TEST_F(ProcessFailures, TheOnlyCuptiRefuses) {
  const Result result = end("", "FAKE_CUPTI_REFUSES=13:999");
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.out, "goes on\n");
  EXPECT_THAT(result.err,
              AllOf(StartsWith("peakmark: CUDA is not recorded: "), HasSubstr("cuptiSubscribe: fake (999)")));
}

TEST_F(ProcessFailures, WorkIsRecordedOneByOne) {
  EXPECT_EQ(end("kernels", "PEAKMARK_WORK=1").code, 0);
  EXPECT_EQ(count_of(EventType::work), 10);
}

TEST_F(ProcessFailures, DroppedRecordsAreNoTimes) {
  const Result result = end("kernels", "PEAKMARK_WORK=1 FAKE_CUPTI_DROPS=3");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err, HasSubstr("CUPTI dropped 3"));
  EXPECT_EQ(count_of(EventType::work), 7);
}

TEST_F(ProcessFailures, TheNextCuptiRecordsWhereTheNewestRefuses) {
  EXPECT_EQ(end("clean", "FAKE_CUPTI_REFUSES=13:999", kBoth).code, 0);
  expect_recorded(15 * kMega, 0, true);
  EXPECT_EQ(recorder(), "cupti 24");
}

TEST_F(ProcessFailures, AFatalErrorOfCuptiEndsTheRecording) {
  const Result result = end("fatal");
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.out, "goes on\n");
  expect_recorded(10 * kMega, 10 * kMega, false);
}

TEST_F(ProcessFailures, AnotherToolThatFinalizesCuptiEndsTheRecording) {
  const Result result = end("finalize");
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(result.out, "goes on\n");
  expect_recorded(10 * kMega, 10 * kMega, false);
}

TEST_F(ProcessFailures, RecordsWithoutTimesAreMissing) {
  const Result result = end("kernels", "PEAKMARK_WORK=1 FAKE_CUPTI_ZERO_TIMES=3");
  EXPECT_EQ(result.code, 5);
  EXPECT_EQ(count_of(EventType::work), 7);
}

TEST_F(ProcessFailures, ForkedChildrenAreNotRecordedAndDoNotHang) {
  const Result result = end("fork");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "0 wrong\ngoes on\n");
  // Each thread of the parent holds at most 1,000 bytes, before the 5 MB are allocated.
  expect_recorded(15 * kMega, 15 * kMega, true);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("p.")) << entry.path();
  }
}

TEST_F(ProcessFailures, NoneOfWhatSyncWaitsFor) {
  // There is a wait for each kernel, copy and fill.
  const Result result = record(std::string("--sync -- ") + kProgram + "work",
                               "export LD_LIBRARY_PATH=" PEAKMARK_FAKES "/cupti13:" PEAKMARK_FAKES ";");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "3 waits\ngoes on\n");
}

/// The memory of 4 GiB devices is occupied until only the budget is free; 64 MiB are 67,108,864 bytes.
TEST_F(ProcessFailures, ABudgetMakesDevicesSmaller) {
  const Result result = record(std::string("--budget 64MiB -- ") + kProgram + "fill",
                               "export LD_LIBRARY_PATH=" PEAKMARK_FAKES "/cupti13:" PEAKMARK_FAKES ";");
  EXPECT_EQ(result.code, 0) << result.err;
  constexpr const char* kLine = "67108864 of 4294967296 free, got 67000000\n";
  EXPECT_EQ(result.out, std::string(kLine) + kLine);
  const auto events = ProfileReader(profile()).events();
  const LedgerSummary summary = summarise(events);
  EXPECT_EQ(summary.peak_bytes, 2 * 67 * kMega);  // of both devices; what is occupied is not the program's
  EXPECT_EQ(summary.allocations, 2 * 67);
  const std::vector<DeviceUse> uses = use_by_device(events);
  ASSERT_EQ(uses.size(), 2U);
  for (const DeviceUse& use : uses) {
    EXPECT_THAT(use.name, testing::StartsWith("CUDA: "));
    EXPECT_EQ(use.peak_bytes, 67 * kMega);
    EXPECT_EQ(use.allocations, 67);
  }
  ASSERT_EQ(summary.refused.size(), 1U);
  EXPECT_EQ(summary.refused[0].bytes, kMega);
  EXPECT_EQ(summary.refused[0].count, 2);
  EXPECT_EQ(summary.refused[0].refused_by, RefusedBy::budget);
  EXPECT_THAT(summary.notes,
              testing::ElementsAre("4227858432 bytes of device 0 are occupied, because of the budget",
                                   "4227858432 bytes of device 1 are occupied, because of the budget"));
}

TEST_F(ProcessFailures, ABudgetIsRoundedDownToWhatTheDriverCanOccupy) {
  const Result result = record(std::string("--budget 5000000 -- ") + kProgram + "fill",
                               "export LD_LIBRARY_PATH=" PEAKMARK_FAKES "/cupti13:" PEAKMARK_FAKES ";");
  EXPECT_EQ(result.code, 0) << result.err;
  constexpr const char* kLine = "4194304 of 4294967296 free, got 4000000\n";  // a multiple of 2 MiB
  EXPECT_EQ(result.out, std::string(kLine) + kLine);
}

TEST_F(ProcessFailures, ABudgetLargerThanTheDeviceChangesNothing) {
  const Result result = record(std::string("--budget 5GiB -- ") + kProgram + "clean",
                               "export LD_LIBRARY_PATH=" PEAKMARK_FAKES "/cupti13:" PEAKMARK_FAKES ";");
  EXPECT_EQ(result.code, 0) << result.err;
  expect_recorded(15 * kMega, 0, true);
}

TEST_F(ProcessFailures, AnotherToolOfTheUserIsNamed) {
  const Result result = end("clean", "CUDA_INJECTION64_PATH=/opt/tool.so");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("CUDA_INJECTION64_PATH=/opt/tool.so is replaced"));
  expect_recorded(15 * kMega, 0, true);
}

}  // namespace
}  // namespace peakmark
