// Tests in which several threads of a program are in the layer at the same time. Run them under
// ThreadSanitizer too (ci/test tsan).
#include <CL/cl_layer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/files_testing.hpp"
#include "record/ledger/ledger.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/opencl/tests/fake_opencl_driver.hpp"

extern "C" {
void peakmark_phase(const char*);
const char* peakmark_profile_path();
std::uint64_t peakmark_event_count();
const char* peakmark_synchronise();
}

namespace peakmark::opencl_layer {
namespace {

constexpr cl_uint kAllSlots = sizeof(cl_icd_dispatch) / sizeof(void*);
constexpr int kThreads = 4;

void* CL_API_CALL counted_svm_alloc(cl_context, cl_svm_mem_flags, size_t size, cl_uint) {
  auto* const memory = static_cast<std::size_t*>(std::malloc(sizeof(std::size_t)));
  *memory = size;
  fake_account.add(static_cast<std::int64_t>(size));
  return memory;
}

/// The work that other threads do as soon as the driver has freed memory, before its call returns.
std::function<void()> when_freed;

void CL_API_CALL counted_svm_free(cl_context, void* memory) {
  fake_account.add(-static_cast<std::int64_t>(*static_cast<std::size_t*>(memory)));
  std::free(memory);
  if (when_freed) std::exchange(when_freed, nullptr)();
}

/// A process has only one layer. Its first loader does not have the functions that OpenCL 3.0 added.
class LayerThreads : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const TemporaryFolder folder;
    setenv("PEAKMARK_PROFILE", (folder.path() / "p").c_str(), 1);
    setenv("PEAKMARK_SYNC", "1", 1);
    setenv("PEAKMARK_WORK", "1", 1);
    cl_icd_dispatch table = whole_table();
    cl_uint entries = 0;
    const auto end =
        static_cast<cl_uint>(offsetof(cl_icd_dispatch, clCreateBufferWithProperties) / sizeof(void*));
    ASSERT_EQ(clInitLayer(end, &table, &entries, &hooks), CL_SUCCESS);
  }

  static cl_icd_dispatch whole_table() {
    cl_icd_dispatch table = fake_table();
    table.clSVMAlloc = counted_svm_alloc;
    table.clSVMFree = counted_svm_free;
    return table;
  }

  static void in_threads(const std::function<void(int)>& work) {
    std::vector<std::jthread> threads;
    for (int number = 0; number < kThreads; ++number) threads.emplace_back(work, number);
  }

  static inline const cl_icd_dispatch* hooks = nullptr;
};

TEST_F(LayerThreads, CallWhileAnotherLoaderInitialises) {
  fake.any_name = true;
  const cl_icd_dispatch table = whole_table();
  const cl_icd_dispatch* later = nullptr;
  in_threads([&](int number) {
    if (number == 0) {
      cl_uint entries = 0;
      EXPECT_EQ(clInitLayer(kAllSlots, &table, &entries, &later), CL_SUCCESS);
      return;
    }
    for (int i = 0; i < 200; ++i) {
      destroy(hooks->clCreateBuffer(nullptr, 0, 100, nullptr, nullptr));
      EXPECT_EQ(hooks->clGetExtensionFunctionAddress("clCreateBuffer"),
                reinterpret_cast<void*>(hooks->clCreateBuffer));
      const cl_command_queue queue = hooks->clCreateCommandQueue(nullptr, nullptr, 0, nullptr);
      hooks->clEnqueueCopyBuffer(queue, nullptr, nullptr, 0, 0, 0, 0, nullptr, nullptr);
      hooks->clReleaseCommandQueue(queue);
      peakmark_phase("call");
    }
  });
  EXPECT_EQ(hooks->clCreateBufferWithProperties, nullptr);  // a table that a loader has got never changes
  EXPECT_NE(later->clCreateBufferWithProperties, nullptr);
  EXPECT_EQ(later->clCreateBuffer, hooks->clCreateBuffer);
}

/// A release is recorded before the driver frees the memory, and an allocation after the driver has made it.
/// So memory that is recorded as live is live at every moment, in any order of the threads.
TEST_F(LayerThreads, RecordedPeakNeverExceedsTheDriversOwn) {
  constexpr std::size_t kBytes = 300;
  constexpr int kRounds = 1000;
  // The device holds two allocations at a time, so each allocation waits for a release in another thread.
  fake_account.set_capacity(2 * kBytes);
  const std::uint64_t first = peakmark_event_count();
  ASSERT_EQ(fake_account.live(), 0);
  in_threads([](int number) {
    for (int i = 0; i < kRounds; ++i) {
      if ((i + number) % 2 == 0) {
        destroy(hooks->clCreateBuffer(nullptr, 0, kBytes, nullptr, nullptr));
      } else {
        hooks->clSVMFree(nullptr, hooks->clSVMAlloc(nullptr, 0, kBytes, 0));
      }
    }
  });
  const LedgerSummary recorded = summarise(ProfileReader(peakmark_profile_path()).events(first));
  EXPECT_LE(recorded.peak_bytes, static_cast<Size>(2 * kBytes));
  EXPECT_GE(recorded.peak_bytes, static_cast<Size>(kBytes));
  EXPECT_EQ(recorded.allocations, kRounds * kThreads);
  EXPECT_EQ(recorded.unmatched_releases, 0);
  EXPECT_EQ(recorded.live_at_end_bytes, 0);
  fake_account.set_capacity(INT64_MAX);
}

TEST_F(LayerThreads, AllocationThatTakesFreedMemoryFollowsItsRelease) {
  const std::uint64_t first = peakmark_event_count();
  void* const memory = hooks->clSVMAlloc(nullptr, 0, 500, 0);
  void* next = nullptr;
  when_freed = [&] { std::jthread([&] { next = hooks->clSVMAlloc(nullptr, 0, 500, 0); }).join(); };
  hooks->clSVMFree(nullptr, memory);
  ASSERT_NE(next, nullptr);
  hooks->clSVMFree(nullptr, next);
  const LedgerSummary recorded = summarise(ProfileReader(peakmark_profile_path()).events(first));
  EXPECT_EQ(recorded.peak_bytes, 500);
  EXPECT_EQ(recorded.live_at_end_bytes, 0);
}

/// This must be the last test of the process: the layer never forgets that there were too many queues.
TEST_F(LayerThreads, MakeMoreQueuesThanAreKnownWhileOneSynchronises) {
  EXPECT_EQ(peakmark_synchronise(), nullptr);
  in_threads([&](int number) {
    for (int i = 0; i < 300; ++i) {
      if (number == 0 && i % 10 == 0) peakmark_synchronise();
      EXPECT_NE(hooks->clCreateCommandQueue(nullptr, nullptr, 0, nullptr), nullptr);
    }
  });
  EXPECT_THAT(peakmark_synchronise(), testing::HasSubstr("more queues than the recorder can track"));
}

}  // namespace
}  // namespace peakmark::opencl_layer
