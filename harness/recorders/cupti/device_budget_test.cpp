#include "recorders/cupti/device_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorders/cupti/tests/fake_cuda_driver.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class DeviceBudgetTest : public testing::Test {
 protected:
  EventList events_;
  FakeDriver driver_;
  DeviceBudget budget_{1000, driver_, events_};
};

TEST_F(DeviceBudgetTest, WhatIsFreeBeyondItIsOccupiedOnce) {
  driver_.free = 5050;
  budget_.apply(0);
  EXPECT_THAT(driver_.occupied, ElementsAre(Pair(0, 4100)));  // 4050, rounded up
  EXPECT_EQ(driver_.free, 950);
  EXPECT_TRUE(budget_.limits(0));
  EXPECT_THAT(events_.notes, ElementsAre(HasSubstr("4100 bytes of device 0 are occupied")));
  driver_.free = 5050;
  budget_.apply(0);
  EXPECT_EQ(driver_.occupied.size(), 1U);
  EXPECT_FALSE(budget_.limits(1));
  budget_.apply(1);
  EXPECT_TRUE(budget_.limits(1));
}

TEST_F(DeviceBudgetTest, FreeMemoryInPartsIsOccupiedInPieces) {
  driver_.free = 5000;
  driver_.max_piece = 1500;
  budget_.apply(0);
  EXPECT_EQ(driver_.free, 1000);
  EXPECT_THAT(events_.notes, ElementsAre(HasSubstr("4000 bytes")));
}

TEST_F(DeviceBudgetTest, ADeviceWithLessFreeStaysAsItIs) {
  driver_.free = 1000;
  budget_.apply(0);
  EXPECT_THAT(driver_.occupied, IsEmpty());
  EXPECT_FALSE(budget_.limits(0));
  EXPECT_THAT(events_.notes,
              ElementsAre(HasSubstr("device 0 has 1000 bytes free, which is within the budget")));
}

TEST_F(DeviceBudgetTest, WhatCannotBeOccupiedMakesTheRecordingInvalid) {
  driver_.free = 5000;
  driver_.max_piece = 50;
  budget_.apply(0);
  EXPECT_FALSE(budget_.limits(0));
  ASSERT_EQ(events_.notes.size(), 2U);
  EXPECT_THAT(events_.notes[1], HasSubstr("invalid: device 0 has 4000 bytes more than the budget"));
}

TEST_F(DeviceBudgetTest, ADriverWithoutPhysicalMemoryMakesTheRecordingInvalid) {
  driver_.free = 5000;
  driver_.granularity.reset();
  budget_.apply(0);
  driver_.free.reset();
  driver_.granularity = 100;
  budget_.apply(1);
  EXPECT_THAT(events_.notes, testing::Each(HasSubstr("invalid: the budget does not limit device ")));
  EXPECT_EQ(events_.notes.size(), 2U);
}

TEST_F(DeviceBudgetTest, AnAllocationThatDoesNotFitIsRefusedByIt) {
  driver_.device = 0;
  driver_.free = 5000;
  CallRecorder recorder{events_, driver_, false, &budget_};
  CUdeviceptr address = 0x7000;
  const cuMemAlloc_v2_params parameters{&address, 2000};
  const auto allocate = [&](CUresult result) {
    std::uint64_t correlation = 0;
    DriverCall call{.id = ID(cuMemAlloc_v2),
                    .entering = true,
                    .parameters = &parameters,
                    .correlation = &correlation,
                    .context = handle<CUcontext>(1),
                    .context_id = 1};
    recorder.on_call(call);
    EXPECT_EQ(driver_.free, 1000);  // before the driver is called
    call.entering = false;
    call.result = result;
    recorder.on_call(call);
  };
  allocate(CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(events_.refused_by_budget, 1);
  allocate(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(events_.refused_by_budget, 1);
  EXPECT_EQ(events_.sums(), (EventList::Sums{0, 0}));
}

}  // namespace
}  // namespace peakmark
