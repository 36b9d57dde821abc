// Tests of `peakmark record --budget` as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/record_command_testing.hpp"
#include "record/profile/profile_files.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using RecordBudget = RecordCommand;

TEST_F(RecordBudget, WhatFitsIsNotRefused) {
  const Result result = record("--budget 1000 -- $PROGRAM leak");
  EXPECT_EQ(result.code, 0) << result.err;
  const LedgerSummary summary = recorded(profile());
  EXPECT_EQ(summary.peak_bytes, 1000);
  EXPECT_EQ(summary.failed_allocations, 0);
  EXPECT_EQ(budget_bytes(ProfileReader(profile()).header()), 1000);
}

TEST_F(RecordBudget, WhatExceedsItIsRefusedAndListedWithItsCallStack) {
  const Result result = record("--budget 999 --stacks -- $PROGRAM leak");
  EXPECT_EQ(result.code, 99) << result.err;  // the program's own
  const LedgerSummary summary = recorded(profile());
  EXPECT_EQ(summary.peak_bytes, 0);
  ASSERT_EQ(summary.refused.size(), 1U);
  EXPECT_EQ(summary.refused[0].bytes, 1000);
  EXPECT_EQ(summary.refused[0].refused_by, RefusedBy::budget);
  EXPECT_THAT(summary.stacks.at(summary.refused[0].stack), HasSubstr("allocating_program"));
}

TEST_F(RecordBudget, AnAllocationMayBeTooLargeForTheDevice) {
  const Result result = record("--max-allocation 999 -- $PROGRAM leak");
  EXPECT_EQ(result.code, 99) << result.err;  // the program's own
  const LedgerSummary summary = recorded(profile());
  EXPECT_EQ(summary.peak_bytes, 0);
  ASSERT_EQ(summary.refused.size(), 1U);
  EXPECT_EQ(summary.refused[0].bytes, 1000);
  EXPECT_EQ(summary.refused[0].error, -61) << "CL_INVALID_BUFFER_SIZE";
  EXPECT_EQ(summary.refused[0].refused_by, RefusedBy::max_allocation);
  EXPECT_EQ(record("--max-allocation 999 --budget 1GiB --refuse-at-use -- $PROGRAM leak").code, 99)
      << "the driver knows the size when the buffer is created";
  EXPECT_EQ(record("--max-allocation 1000 -- $PROGRAM leak").code, 0);
  // The program makes 20 buffers of 1,000,000 bytes each, more in all than one buffer may have.
  EXPECT_EQ(record("--max-allocation 1MB -- $PROGRAM held").code, 0);
  EXPECT_EQ(record("-- $PROGRAM leak", "export PEAKMARK_MAX_ALLOCATION=999;").code, 99);
  EXPECT_EQ(record("--max-allocation 0 -- $PROGRAM leak").code, 2);
}

TEST_F(RecordBudget, EachProcessHasItsOwn) {
  // The program allocates 300 bytes, its child 400, and the child of that 1000 and then 500: 1700 at a time.
  EXPECT_EQ(record("--budget 1000B -- $PROGRAM tree").code, 0);
  EXPECT_EQ(recorded(profile()).peak_bytes, 300);
  for (const auto& further : profiles_beside(profile())) {
    EXPECT_EQ(budget_bytes(ProfileReader(further).header()), 1000);
    EXPECT_EQ(recorded(further).failed_allocations, 0);
  }
  EXPECT_EQ(profiles_beside(profile()).size(), 2U);
}

TEST_F(RecordBudget, WhatExceedsItIsRefusedAtItsFirstUse) {
  // The first buffer is created but not used.
  EXPECT_EQ(record("--budget 999 --refuse-at-use -- $PROGRAM leak").code, 0);
  LedgerSummary summary = recorded(profile());
  EXPECT_EQ(summary.peak_bytes, 500);
  EXPECT_EQ(summary.failed_allocations, 0);
  // Each of 20 buffers is an argument of a kernel.
  EXPECT_EQ(record("--budget 999999 --refuse-at-use -- $PROGRAM held").code, 97);
  summary = recorded(profile());
  EXPECT_EQ(summary.peak_bytes, 0);
  ASSERT_EQ(summary.refused.size(), 1U);
  EXPECT_EQ(summary.refused[0].bytes, 1'000'000);
  EXPECT_EQ(summary.refused[0].error, -4);
  EXPECT_EQ(record("--refuse-at-use -- $PROGRAM leak").code, 2) << "needs a budget";
  EXPECT_EQ(record("--budget 20MB --refuse-at-use -- $PROGRAM held").code, 0);
  EXPECT_EQ(recorded(profile()).failed_allocations, 0);
}

TEST_F(RecordBudget, IsSetByAVariableToo) {
  EXPECT_EQ(record("-- $PROGRAM leak", "export PEAKMARK_BUDGET=1KiB;").code, 0);
  EXPECT_EQ(budget_bytes(ProfileReader(profile()).header()), 1024);
  EXPECT_EQ(record("-- $PROGRAM leak").code, 0);
  EXPECT_EQ(budget_bytes(ProfileReader(profile()).header()), std::nullopt);
}

TEST_F(RecordBudget, MayBeAShareOfTheDevice) {
  // Without this, PoCL's memory would follow the free memory of the machine.
  const std::string limited = "export POCL_MEMORY_LIMIT=1;";
  const Result result = record("--budget 50% -- $PROGRAM leak", limited);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("budget: "), HasSubstr(": 50 % of the ")));
  EXPECT_EQ(budget_bytes(ProfileReader(profile()).header()), Size{1} << 29);
  EXPECT_EQ(record("--budget 100% -- $PROGRAM leak", limited).code, 0);
  EXPECT_EQ(budget_bytes(ProfileReader(profile()).header()), Size{1} << 30);
  EXPECT_THAT(record("--budget free-1GiB -- $PROGRAM leak").err, HasSubstr("the free memory of "));
}

TEST_F(RecordBudget, WhatIsNoSizeIsRejectedBeforeTheProgramStarts) {
  for (const char* const wrong : {"0", "-1", "much", "300TiB", "101%", "free-"}) {
    const Result result = record(std::string("--budget=") + wrong + " -- $PROGRAM leak");
    EXPECT_EQ(result.code, 2) << wrong;
    EXPECT_EQ(result.out, "") << wrong;
    EXPECT_THAT(result.err, HasSubstr("--budget: ")) << wrong;
  }
  EXPECT_THAT(record("--budget 300TiB -- $PROGRAM leak").err, HasSubstr("from 1 byte to 256 TiB"));
}

TEST_F(RecordBudget, ARecorderThatCannotReadItSaysSo) {
  const Result result = record("-- env PEAKMARK_BUDGET=1GiB $PROGRAM leak");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(result.err,
              HasSubstr("no allocation is refused: PEAKMARK_BUDGET=1GiB is not a number of bytes"));
}

}  // namespace
}  // namespace peakmark
