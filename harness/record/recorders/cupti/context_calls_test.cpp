// Tests of the memory that ends with a context.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "record/recorders/cupti/tests/fake_cuda_driver.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Line = EventList::Line;

constexpr std::int64_t kMiB = 1 << 20;

class ContextCallsTest : public testing::Test, protected RecordedProgram {
 protected:
  // In the fake driver, the handle of a context is its number, and its device is ten times that number.
  void create_context(std::uint32_t context) {
    auto* created = handle<CUcontext>(context);
    call(recorder_, ID(cuCtxCreate_v4),
         cuCtxCreate_v4_params{&created, nullptr, 0, static_cast<CUdevice>(10 * context)});
  }
  void destroy_context(std::uint32_t context, CUresult result = CUDA_SUCCESS) {
    call(recorder_, ID(cuCtxDestroy_v2), cuCtxDestroy_v2_params{handle<CUcontext>(context)}, result);
  }
  void retain_primary(CUdevice device, std::uint32_t context) {
    driver_.active.insert(static_cast<std::uint32_t>(device));
    auto* retained = handle<CUcontext>(context);
    call(recorder_, ID(cuDevicePrimaryCtxRetain), cuDevicePrimaryCtxRetain_params{&retained, device});
  }
  void release_primary(CUdevice device, bool is_last) {
    if (is_last) driver_.active.erase(static_cast<std::uint32_t>(device));
    call(recorder_, ID(cuDevicePrimaryCtxRelease_v2), cuDevicePrimaryCtxRelease_v2_params{device});
  }
};

TEST_F(ContextCallsTest, ADestroyedContextReleasesWhatItHeld) {
  allocate(0x7000, 10, 1);
  allocate(0x8000, 20, 2);
  call(recorder_, ID(cuCtxDestroy_v2), cuCtxDestroy_v2_params{handle<CUcontext>(1)});
  EXPECT_EQ(events_.lines.back(), (Line{EventType::release, 0x7000}));
  EXPECT_THAT(events_.notes, ElementsAre(HasSubstr("context was destroyed")));
  call(recorder_, ID(cuDevicePrimaryCtxReset_v2), cuDevicePrimaryCtxReset_v2_params{20});
  EXPECT_EQ(events_.lines.back(), (Line{EventType::release, 0x8000}));
}

TEST_F(ContextCallsTest, MemoryOfAPoolOutlivesTheContext) {
  create_context(1);
  allocate_async(0x7000, 10 * kMiB, 1);
  destroy_context(1);
  allocate(0x8000, 5 * kMiB, 2);
  EXPECT_EQ(events_.sums(), (EventList::Sums{15 * kMiB, 15 * kMiB}));
}

TEST_F(ContextCallsTest, MemoryOfAPoolOutlivesAResetOfThePrimaryContext) {
  allocate_async(0x7000, 10 * kMiB, 1);
  call(recorder_, ID(cuDevicePrimaryCtxReset_v2), cuDevicePrimaryCtxReset_v2_params{10});
  allocate(0x8000, 5 * kMiB, 1);
  EXPECT_EQ(events_.sums(), (EventList::Sums{15 * kMiB, 15 * kMiB}));
}

TEST_F(ContextCallsTest, AResetOfThePrimaryContextEndsThatContextsMemoryOnly) {
  driver_.device = 0;
  create_context(2);
  // This memory is in the primary context, which the runtime has retained without a reported call.
  allocate(0x7000, 10 * kMiB, 1);
  allocate(0x8000, 5 * kMiB, 2);
  call(recorder_, ID(cuDevicePrimaryCtxReset_v2), cuDevicePrimaryCtxReset_v2_params{0});
  EXPECT_EQ(events_.sums(), (EventList::Sums{15 * kMiB, 5 * kMiB}));
}

TEST_F(ContextCallsTest, TheLastReleaseOfThePrimaryContextResetsIt) {
  retain_primary(10, 1);
  retain_primary(10, 1);
  allocate(0x7000, 10 * kMiB, 1);
  release_primary(10, false);
  allocate(0x8000, 1 * kMiB, 1);
  EXPECT_EQ(events_.sums().live, 11 * kMiB);
  release_primary(10, true);
  EXPECT_EQ(events_.sums().live, 0);
  retain_primary(10, 3);
  allocate(0x9000, 5 * kMiB, 3);
  EXPECT_EQ(events_.sums(), (EventList::Sums{11 * kMiB, 5 * kMiB}));
}

// Another thread retains the context again before the recorder queries whether it was reset.
TEST_F(ContextCallsTest, ANewPrimaryContextMeansThatTheOldOneHasEnded) {
  driver_.device = 0;
  retain_primary(0, 1);
  allocate(0x7000, 10 * kMiB, 1);
  driver_.active.erase(0);
  call(recorder_, ID(cuDevicePrimaryCtxRelease_v2), cuDevicePrimaryCtxRelease_v2_params{0}, CUDA_SUCCESS,
       [&] { retain_primary(0, 2); });
  EXPECT_EQ(events_.sums(), (EventList::Sums{10 * kMiB, 0}));
}

TEST_F(ContextCallsTest, ReleasesOfTheRuntimeAtExitAreNotTheProgramsOwn) {
  retain_primary(10, 1);
  allocate(0x7000, 10 * kMiB, 1);
  recorder_.begin_process_exit();
  release_primary(10, true);
  EXPECT_EQ(events_.sums().live, 10 * kMiB);
}

TEST_F(ContextCallsTest, TheLastDetachEndsTheContext) {
  create_context(1);
  auto* attached = handle<CUcontext>(1);
  call(recorder_, ID(cuCtxAttach), cuCtxAttach_params{&attached, 0});
  allocate(0x7000, 10 * kMiB, 1);
  call(recorder_, ID(cuCtxDetach), cuCtxDetach_params{handle<CUcontext>(1)});
  EXPECT_EQ(events_.sums().live, 10 * kMiB);
  call(recorder_, ID(cuCtxDetach), cuCtxDetach_params{handle<CUcontext>(1)});
  EXPECT_EQ(events_.sums().live, 0);
}

TEST_F(ContextCallsTest, TheFirstCuCtxDestroyCountsToo) {
  create_context(1);
  allocate(0x7000, 10 * kMiB, 1);
  call(recorder_, ID(cuCtxDestroy), cuCtxDestroy_params{handle<CUcontext>(1)});
  EXPECT_EQ(events_.sums().live, 0);
}

TEST_F(ContextCallsTest, AGreenContextReleasesThePrimaryContext) {
  auto* green = handle<CUgreenCtx>(0x50);
  driver_.active.insert(10);
  call(recorder_, ID(cuGreenCtxCreate), cuGreenCtxCreate_params{&green, nullptr, 10, 0});
  allocate(0x7000, 10 * kMiB, 1);
  driver_.active.erase(10);
  call(recorder_, ID(cuGreenCtxDestroy), cuGreenCtxDestroy_params{green}, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(events_.sums().live, 10 * kMiB);
  call(recorder_, ID(cuGreenCtxDestroy), cuGreenCtxDestroy_params{green});
  EXPECT_EQ(events_.sums().live, 0);
}

TEST_F(ContextCallsTest, ARefusedDestructionEndsNothing) {
  allocate(0x7000, 10 * kMiB, 1);
  destroy_context(1, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(events_.sums(), (EventList::Sums{10 * kMiB, 10 * kMiB}));
  destroy_context(1);
  EXPECT_EQ(events_.sums().live, 0);
}

TEST_F(ContextCallsTest, PhysicalMemoryOfTheHostOutlivesTheContext) {
  CUmemGenericAllocationHandle one = 5;
  CUmemAllocationProp properties{};
  properties.location.type = CU_MEM_LOCATION_TYPE_HOST;
  in_context(1, ID(cuMemCreate), cuMemCreate_params{&one, 4096, &properties, 0});
  destroy_context(1);
  EXPECT_EQ(events_.lines.size(), 1U);
}

}  // namespace
}  // namespace peakmark
