#include "record/recorders/cupti/device_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "record/recorders/cupti/tests/fake_cuda_driver.hpp"

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

class RefusedAllocationTest : public testing::Test {
 protected:
  RefusedAllocationTest() {
    driver_.device = 0;
    driver_.free = 5050;
    driver_.small_free = 3 << 19;
  }
  /// Allocates as the driver would, if enough bytes are free.
  template <typename Parameters>
  bool allocate(CUpti_CallbackId id, const Parameters& parameters, std::int64_t bytes) {
    std::uint64_t correlation = 0;
    DriverCall call{.id = id,
                    .entering = true,
                    .parameters = &parameters,
                    .correlation = &correlation,
                    .context = handle<CUcontext>(1),
                    .context_id = 1};
    recorder_.on_call(call);
    const bool fits = *driver_.free >= bytes || driver_.small_free >= bytes;
    call.entering = false;
    call.result = fits ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    recorder_.on_call(call);
    EXPECT_EQ(driver_.free, 5050);
    EXPECT_EQ(driver_.small_free, 3 << 19);
    EXPECT_THAT(driver_.taken, IsEmpty());
    return fits;
  }
  bool allocate(std::size_t bytes) {
    CUdeviceptr address = next_ += 0x1000;
    return allocate(ID(cuMemAlloc_v2), cuMemAlloc_v2_params{&address, bytes},
                    static_cast<std::int64_t>(bytes));
  }

  EventList events_;
  FakeDriver driver_;
  DriverRefusal refused_{3, DriverRefusal::Extent::this_call, driver_, events_};
  CallRecorder recorder_{events_, driver_, false, nullptr, &refused_};
  CUdeviceptr next_ = 0x7000;
};

TEST_F(RefusedAllocationTest, TheDriverRefusesTheOneOfThisNumber) {
  EXPECT_TRUE(allocate(512));
  void* host = &next_;
  EXPECT_TRUE(allocate(ID(cuMemAllocHost_v2), cuMemAllocHost_v2_params{&host, 64}, 0)) << "not counted";
  EXPECT_TRUE(allocate(4000));
  EXPECT_FALSE(allocate(512));
  EXPECT_TRUE(allocate(512)) << "a retry";
  EXPECT_EQ(events_.refused_by_budget, 1);
  EXPECT_THAT(events_.notes, IsEmpty());
  EXPECT_EQ(events_.sums().live, 512 + 4000 + 512);
}

TEST_F(RefusedAllocationTest, AnAllocationThatSucceedsAllTheSameIsNoted) {
  driver_.max_piece = 2000;
  allocate(1);
  allocate(1);
  EXPECT_TRUE(allocate(0)) << "of memory that a pool held";
  EXPECT_THAT(events_.notes, ElementsAre(HasSubstr("had memory for the allocation that was to be refused")));
  EXPECT_EQ(events_.refused_by_budget, 0);
}

TEST_F(RefusedAllocationTest, TheDeviceStaysAsFullUntilTheProgramReleasesMemory) {
  DriverRefusal refused{1, DriverRefusal::Extent::process, driver_, events_};
  const auto fits = [&](std::int64_t bytes) {
    refused.begin(0, bytes);
    const bool has_allocated = *driver_.free >= bytes;
    EXPECT_EQ(refused.end(0, has_allocated), true) << "a lack of memory is due to the refusal";
    EXPECT_FALSE(refused.end(1, false)) << "of another device";
    return has_allocated;
  };
  EXPECT_FALSE(fits(1000));
  EXPECT_FALSE(fits(1000)) << "a retry";
  EXPECT_TRUE(fits(900)) << "what does fit";
  EXPECT_EQ(driver_.free, 950) << "of 5050: less than 1000, in steps of 100";
  *driver_.free += 100;  // released by the program
  EXPECT_TRUE(fits(1000));
}

TEST_F(RefusedAllocationTest, EachAllocationThatIsLargerThanOneMayBeIsRefused) {
  DriverRefusal refused{1000, driver_, events_};
  CallRecorder recorder{events_, driver_, false, nullptr, &refused};
  const auto fits = [&](std::size_t bytes) {
    CUdeviceptr address = next_ += 0x1000;
    const cuMemAlloc_v2_params parameters{&address, bytes};
    std::uint64_t correlation = 0;
    DriverCall call{.id = ID(cuMemAlloc_v2),
                    .entering = true,
                    .parameters = &parameters,
                    .correlation = &correlation,
                    .context = handle<CUcontext>(1),
                    .context_id = 1};
    recorder.on_call(call);
    const bool has_allocated = *driver_.free >= static_cast<std::int64_t>(bytes);
    call.entering = false;
    call.result = has_allocated ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    recorder.on_call(call);
    EXPECT_EQ(driver_.free, 5050) << "what was occupied is free again";
    return has_allocated;
  };
  EXPECT_TRUE(fits(1000));
  EXPECT_FALSE(fits(1001));
  EXPECT_TRUE(fits(1000)) << "the device is not full";
  EXPECT_FALSE(fits(4000));
  EXPECT_FALSE(fits(6000)) << "more than the device has";
  EXPECT_EQ(events_.refused_by_max_allocation, 3);
  EXPECT_EQ(events_.refused_by_budget, 0);
}

TEST_F(RefusedAllocationTest, TwoThreadsAtOneMomentAreBothRefused) {
  DriverRefusal refused{1000, driver_, events_};
  std::promise<void> other_has_begun;
  std::promise<void> own_has_ended;
  refused.begin(0, 4000);
  std::thread other([&] {
    refused.begin(0, 2000);
    EXPECT_LT(*driver_.free, 2000) << "while a larger request is refused";
    other_has_begun.set_value();
    own_has_ended.get_future().wait();
    EXPECT_LT(*driver_.free, 2000) << "behind the end of the larger one";
    EXPECT_TRUE(refused.end(0, false));
  });
  other_has_begun.get_future().wait();
  EXPECT_TRUE(refused.end(0, false));
  own_has_ended.set_value();
  other.join();
  EXPECT_EQ(driver_.free, 5050) << "what was occupied is free again";
  EXPECT_FALSE(refused.end(0, false)) << "a smaller request is not refused";
}

TEST_F(RefusedAllocationTest, ASmallRequestFindsNothingFree) {
  DriverRefusal refused{1, DriverRefusal::Extent::process, driver_, events_};
  refused.begin(0, 80);
  EXPECT_EQ(driver_.free, 50);
  EXPECT_EQ(driver_.small_free, 0);
  EXPECT_TRUE(refused.end(0, false));
}

TEST_F(RefusedAllocationTest, ADriverThatCannotBeFilledMakesTheRecordingInvalid) {
  driver_.granularity.reset();
  for (int i = 0; i < 3; ++i) allocate(1);
  EXPECT_THAT(events_.notes[0], HasSubstr("invalid: no allocation is refused: the driver has no"));
}

}  // namespace
}  // namespace peakmark
