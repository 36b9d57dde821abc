// Tests of the budget of a device ($PEAKMARK_BUDGET), on a driver without a device. random_budgets_test.cpp
// uses a real device.
#include "record/recorders/opencl/budget.hpp"

#include <CL/cl_layer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files_testing.hpp"
#include "record/ledger/device_use.hpp"
#include "record/ledger/ledger.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/opencl/tests/fake_opencl_driver.hpp"

extern "C" {
const char* peakmark_profile_path();
std::uint64_t peakmark_event_count();
}

namespace peakmark::opencl_layer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kBudget = 10'000;

/// A process has only one layer, so the tests share it.
class OpenclBudget : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const TemporaryFolder folder;
    setenv("PEAKMARK_PROFILE", (folder.path() / "p").c_str(), 1);
    setenv("PEAKMARK_BUDGET", std::to_string(kBudget).c_str(), 1);
    unsetenv("PEAKMARK_SYNC");
    unsetenv("PEAKMARK_WORK");
    cl_icd_dispatch table = table_with_devices();
    cl_uint entries = 0;
    ASSERT_EQ(clInitLayer(sizeof(table) / sizeof(void*), &table, &entries, &hooks), CL_SUCCESS);
  }
  void SetUp() override {
    fake = {};
    device_ = FakeDevice{};
    context_ = FakeContext{{&device_}};
    next_context = &context_;
    hooks->clCreateContext(nullptr, 0, nullptr, nullptr, nullptr, nullptr);
    first_ = peakmark_event_count();
  }

  cl_mem buffer(std::int64_t bytes, cl_int* result = nullptr) {
    return hooks->clCreateBuffer(handle(context_), 0, static_cast<std::size_t>(bytes), nullptr, result);
  }
  /// Returns the most bytes that can be allocated.
  std::int64_t bytes_left(FakeContext& context) {
    std::int64_t fits = 0;
    for (std::int64_t too_many = 2 * kBudget; fits + 1 < too_many;) {
      const std::int64_t bytes = (fits + too_many) / 2;
      const cl_mem memory =
          hooks->clCreateBuffer(handle(context), 0, static_cast<std::size_t>(bytes), nullptr, nullptr);
      (memory == nullptr ? too_many : fits) = bytes;
      if (memory != nullptr) destroy(memory);
    }
    return fits;
  }
  std::vector<Event> events() const { return ProfileReader(peakmark_profile_path()).events(first_); }
  LedgerSummary summary() const { return summarise(events()); }

  /// A request of 320 bytes that the budget refuses before the driver is called, and one that fits.
  template <typename Create>
  void expect_limited(MemoryKind kind, cl_int error, Create create) {
    const cl_mem all = buffer(kBudget);
    ASSERT_NE(all, nullptr);
    fake.calls.clear();
    first_ = peakmark_event_count();
    cl_int result = CL_SUCCESS;
    EXPECT_EQ(create(&result), nullptr);
    EXPECT_EQ(result, error);
    EXPECT_EQ(create(nullptr), nullptr);
    EXPECT_THAT(fake.calls, IsEmpty());
    const auto seen = events();
    ASSERT_EQ(seen.size(), 2U);
    for (const Event& event : seen) {
      EXPECT_EQ(event.type, EventType::failed_allocation);
      EXPECT_EQ(refused_by(event), RefusedBy::budget);
      EXPECT_STREQ(to_string(event.kind), to_string(kind));
      EXPECT_EQ(event.amounts.result, error);
    }
    destroy(all);
    const auto memory = create(&result);
    EXPECT_EQ(result, CL_SUCCESS);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(bytes_left(context_), kBudget - 320);
    destroy(memory);
    EXPECT_EQ(bytes_left(context_), kBudget);
  }

  static inline const cl_icd_dispatch* hooks = nullptr;
  // All tests share it, because the names of devices are recorded when a second one is used.
  static inline FakeDevice device_;
  static inline FakeContext context_;
  std::uint64_t first_ = 0;
};

TEST_F(OpenclBudget, AnAllocationThatExceedsItIsRefusedBeforeTheDriverIsCalled) {
  cl_int result = -1;
  const cl_mem first = buffer(6000, &result);
  EXPECT_EQ(result, CL_SUCCESS);
  const cl_mem second = buffer(4000);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(buffer(1, &result), nullptr);
  EXPECT_EQ(result, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_THAT(fake.calls, ElementsAre("buffer", "buffer"));
  destroy(second);
  EXPECT_EQ(buffer(4001), nullptr);
  const cl_mem third = buffer(4000);
  ASSERT_NE(third, nullptr);
  destroy(first);
  destroy(third);

  const LedgerSummary recorded = summary();
  EXPECT_EQ(recorded.peak_bytes, kBudget);
  EXPECT_EQ(recorded.live_at_end_bytes, 0);
  EXPECT_EQ(recorded.allocations, 3);
  EXPECT_EQ(recorded.failed_allocations, 2);
  EXPECT_THAT(recorded.refused,
              ElementsAre(RefusedAllocation{4001, MemoryKind::buffer, -4, "", 0, 1, {}, RefusedBy::budget},
                          RefusedAllocation{1, MemoryKind::buffer, -4, "", 0, 1, {}, RefusedBy::budget}));
  EXPECT_EQ(budget_bytes(ProfileReader(peakmark_profile_path()).header()), kBudget);
}

TEST_F(OpenclBudget, LimitsEveryKindOfMemory) {
  const cl_context context = handle(context_);
  const cl_image_format format{CL_RGBA, CL_FLOAT};
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE2D;
  shape.image_width = 10;
  shape.image_height = 2;
  const auto intel = reinterpret_cast<clCreateBufferWithPropertiesINTEL_fn>(
      hooks->clGetExtensionFunctionAddress("clCreateBufferWithPropertiesINTEL"));
  using Create = std::function<cl_mem(cl_int*)>;
  const std::pair<MemoryKind, Create> requests[] = {
      {MemoryKind::buffer,
       [&](cl_int* code) {
         return hooks->clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, 320, nullptr, code);
       }},
      {MemoryKind::alloc_host_ptr,
       [&](cl_int* code) {
         return hooks->clCreateBufferWithProperties(context, nullptr, CL_MEM_ALLOC_HOST_PTR, 320, nullptr,
                                                    code);
       }},
      {MemoryKind::buffer, [&](cl_int* code) { return intel(context, nullptr, 0, 320, nullptr, code); }},
      {MemoryKind::image,
       [&](cl_int* code) { return hooks->clCreateImage(context, 0, &format, &shape, nullptr, code); }},
      {MemoryKind::image,
       [&](cl_int* code) {
         return hooks->clCreateImageWithProperties(context, nullptr, 0, &format, &shape, nullptr, code);
       }},
      {MemoryKind::image,
       [&](cl_int* code) { return hooks->clCreateImage2D(context, 0, &format, 10, 2, 0, nullptr, code); }},
      {MemoryKind::image,
       [&](cl_int* code) {
         return hooks->clCreateImage3D(context, 0, &format, 10, 1, 2, 0, 0, nullptr, code);
       }},
      {MemoryKind::pipe,
       [&](cl_int* code) { return hooks->clCreatePipe(context, 0, 16, 20, nullptr, code); }},
  };
  for (const auto& [kind, create] : requests) {
    // `buffer()` asks for its own size, which the driver must not change.
    expect_limited(kind, CL_MEM_OBJECT_ALLOCATION_FAILURE, [&make = create](cl_int* code) {
      fake.size = 320;
      const cl_mem memory = make(code);
      fake.size = 0;
      return memory;
    });
  }
  // The size is known only when the buffer is created. These calls report another error.
  const cl_mem all = buffer(kBudget);
  fake.size = 320;
  cl_int result = CL_SUCCESS;
  fake.calls.clear();
  EXPECT_EQ(hooks->clCreateFromGLBuffer(context, 0, 1, &result), nullptr);
  EXPECT_EQ(result, CL_OUT_OF_RESOURCES);
  EXPECT_THAT(fake.calls, ElementsAre("gl buffer", "release"));
  destroy(all);
}

TEST_F(OpenclBudget, LimitsSharedMemory) {
  const cl_context context = handle(context_);
  void* const memory = hooks->clSVMAlloc(context, 0, 9000, 0);
  EXPECT_EQ(memory, fake_heap + 256);
  EXPECT_EQ(hooks->clSVMAlloc(context, 0, 1001, 0), nullptr);
  EXPECT_EQ(bytes_left(context_), 1000);
  hooks->clSVMFree(context, memory);
  hooks->clSVMFree(context, nullptr);
  EXPECT_EQ(bytes_left(context_), kBudget);

  const auto function = [&](const char* name) { return hooks->clGetExtensionFunctionAddress(name); };
  const auto of_device = reinterpret_cast<clDeviceMemAllocINTEL_fn>(function("clDeviceMemAllocINTEL"));
  const auto of_host = reinterpret_cast<clHostMemAllocINTEL_fn>(function("clHostMemAllocINTEL"));
  const auto release = reinterpret_cast<clMemFreeINTEL_fn>(function("clMemFreeINTEL"));
  cl_int result = -1;
  void* const own = of_device(context, handle(device_), nullptr, 9000, 0, &result);
  EXPECT_EQ(result, CL_SUCCESS);
  EXPECT_EQ(of_device(context, nullptr, nullptr, 1001, 0, &result), nullptr);
  EXPECT_EQ(result, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  void* const host = of_host(context, nullptr, 2 * kBudget, 0, &result);  // memory of the host has no limit
  EXPECT_EQ(result, CL_SUCCESS);
  EXPECT_EQ(release(context, host), CL_SUCCESS);
  EXPECT_EQ(bytes_left(context_), 1000);
  EXPECT_EQ(release(context, own), CL_SUCCESS);
  EXPECT_EQ(bytes_left(context_), kBudget);
}

TEST_F(OpenclBudget, ViewsAndTheProgramsOwnMemoryCostNothing) {
  const cl_mem all = buffer(kBudget);
  fake.size = 500;
  fake.has_parent = true;
  const cl_mem view = hooks->clCreateSubBuffer(all, 0, CL_BUFFER_CREATE_TYPE_REGION, nullptr, nullptr);
  ASSERT_NE(view, nullptr);
  cl_image_desc shape{};
  shape.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
  shape.image_width = 10;
  shape.buffer = all;
  const cl_image_format format{CL_RGBA, CL_FLOAT};
  const cl_mem image = hooks->clCreateImage(handle(context_), 0, &format, &shape, nullptr, nullptr);
  ASSERT_NE(image, nullptr);
  fake.has_parent = false;
  const cl_mem own = hooks->clCreateBuffer(handle(context_), CL_MEM_USE_HOST_PTR, 500, fake_heap, nullptr);
  ASSERT_NE(own, nullptr);
  fake.size = 0;
  EXPECT_EQ(buffer(1), nullptr);
  for (const cl_mem memory : {view, image, own}) destroy(memory);
  EXPECT_EQ(buffer(1), nullptr);
  destroy(all);
  EXPECT_EQ(bytes_left(context_), kBudget);
}

TEST_F(OpenclBudget, WhatTheDriverRefusesIsGivenBack) {
  fake.result = CL_OUT_OF_RESOURCES;
  cl_int result = CL_SUCCESS;
  EXPECT_EQ(buffer(kBudget, &result), nullptr);
  EXPECT_EQ(result, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(hooks->clSVMAlloc(handle(context_), 0, kBudget, 0), nullptr);
  const auto seen = events();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(refused_by(seen[0]), RefusedBy::driver);
  EXPECT_EQ(refused_by(seen[1]), RefusedBy::driver);
  fake.result = CL_SUCCESS;
  EXPECT_EQ(bytes_left(context_), kBudget);
}

TEST_F(OpenclBudget, CountsTheBytesThatTheDriverReports) {
  fake.size = 4096;
  const cl_mem larger = buffer(4000);
  fake.size = 0;
  EXPECT_EQ(bytes_left(context_), kBudget - 4096);
  fake.size = 300;
  const cl_mem smaller = buffer(5000);
  fake.size = 0;
  EXPECT_EQ(bytes_left(context_), kBudget - 4096 - 300);
  destroy(larger);
  destroy(smaller);
  // The driver reports only afterwards that the memory is too large.
  fake.size = kBudget + 1;
  fake.calls.clear();
  cl_int result = CL_SUCCESS;
  first_ = peakmark_event_count();
  EXPECT_EQ(buffer(10, &result), nullptr);
  EXPECT_EQ(result, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  EXPECT_THAT(fake.calls, ElementsAre("buffer", "release"));
  const auto seen = events();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].amounts.bytes, kBudget + 1);
  fake.size = 0;
  EXPECT_EQ(bytes_left(context_), kBudget);
}

TEST_F(OpenclBudget, RequestsBeyond63BitsAreRefused) {
  EXPECT_EQ(buffer(INT64_MIN), nullptr);
  EXPECT_EQ(buffer(INT64_MAX), nullptr);
  EXPECT_EQ(hooks->clSVMAlloc(handle(context_), 0, SIZE_MAX, 0), nullptr);
  EXPECT_THAT(fake.calls, IsEmpty());
  EXPECT_EQ(summary().failed_allocations, 3);
  EXPECT_EQ(bytes_left(context_), kBudget);
}

TEST_F(OpenclBudget, IsForEachDevice) {
  FakeDevice other;
  FakeDevice part{.parent = &device_};
  FakeContext of_other{{&other}};
  FakeContext of_both{{&device_, &other}};
  FakeContext of_part{{&part}};
  const cl_mem own = buffer(3000);
  EXPECT_EQ(bytes_left(of_other), kBudget);
  EXPECT_EQ(bytes_left(of_part), kBudget - 3000);
  const cl_mem shared = hooks->clCreateBuffer(handle(of_both), 0, 5000, nullptr, nullptr);
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(bytes_left(context_), 2000);
  EXPECT_EQ(bytes_left(of_other), 5000);
  // It does not fit on the first of the two devices, and leaves the second one unchanged.
  EXPECT_EQ(hooks->clCreateBuffer(handle(of_both), 0, 2001, nullptr, nullptr), nullptr);
  EXPECT_EQ(bytes_left(of_other), 5000);
  destroy(own);
  destroy(shared);
  EXPECT_EQ(bytes_left(of_both), kBudget);
}

// This test has nothing to do with the budget, but the fake devices are here.
TEST_F(OpenclBudget, MemoryOfSeveralDevicesIsRecordedWithTheirNames) {
  // Other tests may have devices at the addresses of those on the stack.
  static FakeDevice first;
  static FakeDevice second;
  first.name = "first";
  second.name = "second";
  FakeContext one{{&first}};
  FakeContext other{{&second}};
  FakeContext both{{&first, &second}};
  const auto allocate = [&](FakeContext& context, std::size_t bytes) {
    next_context = &context;
    hooks->clCreateContext(nullptr, 0, nullptr, nullptr, nullptr, nullptr);
    return hooks->clCreateBuffer(handle(context), 0, bytes, nullptr, nullptr);
  };
  const std::vector<cl_mem> memory{allocate(one, 1000), allocate(other, 300), allocate(both, 20)};
  for (const cl_mem object : memory) destroy(object);
  std::map<std::string, DeviceUse> uses;
  for (const DeviceUse& use : use_by_device(ProfileReader(peakmark_profile_path()).events()))
    uses[use.name] = use;
  EXPECT_EQ(uses[": first"], (DeviceUse{": first", 1020, 0, 2}));
  EXPECT_EQ(uses[": second"], (DeviceUse{": second", 320, 0, 2}));
}

TEST_F(OpenclBudget, AContextMayHaveTheHandleOfAnEarlierOne) {
  FakeDevice other;
  const cl_mem all = buffer(kBudget);
  EXPECT_EQ(buffer(1), nullptr);
  context_.devices = {&other};
  next_context = &context_;
  EXPECT_EQ(hooks->clCreateContext(nullptr, 0, nullptr, nullptr, nullptr, nullptr), handle(context_));
  EXPECT_EQ(bytes_left(context_), kBudget);
  destroy(all);
}

TEST_F(OpenclBudget, WithoutAContextTheDriverAnswers) {
  fake.result = CL_INVALID_CONTEXT;
  cl_int result = CL_SUCCESS;
  EXPECT_EQ(hooks->clCreateBuffer(nullptr, 0, 2 * kBudget, nullptr, &result), nullptr);
  EXPECT_EQ(result, CL_INVALID_CONTEXT);
  EXPECT_THAT(fake.calls, ElementsAre("buffer"));
}

TEST_F(OpenclBudget, IsTheSizeOfTheDevice) {
  const auto asked = [&](cl_device_info what) {
    cl_ulong bytes = 0;
    std::size_t size = 0;
    EXPECT_EQ(hooks->clGetDeviceInfo(handle(device_), what, sizeof(bytes), &bytes, &size), CL_SUCCESS);
    EXPECT_EQ(size, sizeof(bytes));
    return static_cast<std::int64_t>(bytes);
  };
  EXPECT_EQ(asked(CL_DEVICE_GLOBAL_MEM_SIZE), kBudget);
  EXPECT_EQ(asked(CL_DEVICE_MAX_MEM_ALLOC_SIZE), kBudget);
  device_.largest = 2500;
  EXPECT_EQ(asked(CL_DEVICE_MAX_MEM_ALLOC_SIZE), 2500);
  device_.memory = 9000;  // a device has no more than it has
  EXPECT_EQ(asked(CL_DEVICE_GLOBAL_MEM_SIZE), 9000);

  const cl_mem memory = buffer(2000);
  std::array<std::size_t, 2> free{};  // KiB
  EXPECT_EQ(hooks->clGetDeviceInfo(handle(device_), CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, sizeof(free),
                                   free.data(), nullptr),
            CL_SUCCESS);
  EXPECT_THAT(free, ElementsAre(7, 5));
  destroy(memory);
  std::size_t size = 0;
  EXPECT_EQ(hooks->clGetDeviceInfo(handle(device_), CL_DEVICE_GLOBAL_MEM_SIZE, 0, nullptr, &size),
            CL_SUCCESS);
  EXPECT_EQ(size, sizeof(cl_ulong));
  EXPECT_EQ(hooks->clGetDeviceInfo(handle(device_), CL_DEVICE_VENDOR, 0, nullptr, nullptr), CL_INVALID_VALUE);
}

TEST_F(OpenclBudget, AForkedChildBeginsWithNothingLive) {
  const cl_mem inherited = buffer(6000);
  void* const shared = hooks->clSVMAlloc(handle(context_), 0, 1000, 0);
  const pid_t child = fork();
  if (child == 0) {
    bool is_right = bytes_left(context_) == kBudget;
    destroy(inherited);
    hooks->clSVMFree(handle(context_), shared);
    is_right = is_right && bytes_left(context_) == kBudget && buffer(kBudget + 1) == nullptr;
    const cl_mem own = buffer(7000);
    is_right = is_right && bytes_left(context_) == 3000;
    destroy(own);
    _exit(is_right && bytes_left(context_) == kBudget ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(bytes_left(context_), 3000);
  destroy(inherited);
  hooks->clSVMFree(handle(context_), shared);
  EXPECT_EQ(bytes_left(context_), kBudget);
}

TEST_F(OpenclBudget, ADriverWithoutDestructorCallbacksIsNotLimited) {
  fake.callbacks = false;
  const std::vector<cl_mem> all{buffer(6000), buffer(6000), buffer(6000)};
  EXPECT_THAT(all, testing::Each(testing::NotNull()));
  for (const cl_mem memory : all) destroy(memory);
  fake.callbacks = true;
  EXPECT_EQ(bytes_left(context_), kBudget);
}

/// There are more addresses than places in the table.
TEST_F(OpenclBudget, CountsManyAddresses) {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 1; i <= 9000; ++i) addresses.push_back(i << 12U);
  const auto memory = [](std::uint64_t address) { return reinterpret_cast<const void*>(address); };
  for (const std::uint64_t address : addresses) {
    const Charge charge = take_budget(handle(context_), 1, MemoryKind::svm);
    ASSERT_FALSE(charge.is_refused());
    store_charge(memory(address), charge);
  }
  EXPECT_EQ(bytes_left(context_), kBudget - 9000);
  for (const std::uint64_t address : addresses) {
    const Charge charge = withdraw_charge(memory(address));
    EXPECT_EQ(charge.bytes(), 1);
    give_budget_back(charge);
  }
  EXPECT_TRUE(withdraw_charge(memory(addresses.front())).is_empty());
  EXPECT_EQ(bytes_left(context_), kBudget);
}

/// Threads allocate and release at the same time. The live memory in the profile never exceeds the budget.
TEST_F(OpenclBudget, ThreadsNeverExceedItTogether) {
  constexpr int kThreads = 4;
  {
    std::vector<std::jthread> threads;
    for (unsigned number = 0; number < kThreads; ++number) {
      threads.emplace_back([&, number] {
        std::mt19937 random(number);
        std::vector<cl_mem> own;
        for (int i = 0; i < 2000; ++i) {
          if (!own.empty() && random() % 2 == 0) {
            destroy(own.back());
            own.pop_back();
          } else if (const cl_mem memory = buffer(1 + static_cast<std::int64_t>(random() % 3000));
                     memory != nullptr) {
            own.push_back(memory);
          }
        }
        for (const cl_mem memory : own) destroy(memory);
      });
    }
  }
  const LedgerSummary recorded = summary();
  EXPECT_LE(recorded.peak_bytes, kBudget);
  EXPECT_GT(recorded.peak_bytes, kBudget / 2);
  EXPECT_GT(recorded.failed_allocations, 100);
  EXPECT_GT(recorded.allocations, 100);
  EXPECT_EQ(recorded.live_at_end_bytes, 0);
  EXPECT_EQ(bytes_left(context_), kBudget);
}

}  // namespace
}  // namespace peakmark::opencl_layer
