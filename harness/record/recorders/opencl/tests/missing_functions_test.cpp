// Tests with drivers that lack functions. A real loader has an entry for each function, which jumps through
// the driver's table, so calling a function that the driver lacks ends the process.
#include <CL/cl_layer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/files_testing.hpp"
#include "record/ledger/ledger.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/opencl/layer.hpp"
#include "record/recorders/opencl/tests/fake_opencl_driver.hpp"

extern "C" {
const char* peakmark_profile_path();
std::uint64_t peakmark_event_count();
const char* peakmark_synchronise();
}

namespace peakmark::opencl_layer {
namespace {

using Slots = cl_icd_dispatch;
constexpr std::size_t kSlots = sizeof(Slots) / sizeof(void*);
using Entries = std::array<void*, kSlots>;

Entries entries_of(const Slots& table) {
  Entries entries;
  std::memcpy(entries.data(), &table, sizeof(table));
  return entries;
}

Slots table_of(const Entries& entries) {
  Slots table;
  std::memcpy(&table, entries.data(), sizeof(table));
  return table;
}

template <auto Slot, typename Function>
struct Jump;

template <auto Slot, typename Result, typename Handle, typename... Arguments>
struct Jump<Slot, Result(CL_API_CALL*)(Handle, Arguments...)> {
  static Result CL_API_CALL call(Handle handle, Arguments... arguments) {
    const Slots* const table = *reinterpret_cast<const Slots* const*>(handle);
    return (table->*Slot)(handle, arguments...);
  }
};

template <auto... Slot>
Slots loader_of() {
  Slots table{};
  ((table.*Slot = Jump<Slot, std::remove_cvref_t<decltype(table.*Slot)>>::call), ...);
  return table;
}

struct FakeEvent {
  const Slots* driver = &fake_driver_table;
};
FakeEvent only_event;
FakeContext only_context;

/// A driver with everything that the program below needs and that the recorder may ask for.
Slots whole_driver() {
  Slots table = table_with_devices();
  table.clRetainMemObject = [](cl_mem) -> cl_int { return CL_SUCCESS; };
  table.clGetCommandQueueInfo = [](cl_command_queue, cl_command_queue_info, size_t size, void* value,
                                   size_t* size_ret) -> cl_int {
    const cl_context context = handle(only_context);
    return answer(&context, sizeof(context), size, value, size_ret);
  };
  table.clEnqueueCopyBuffer = [](cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint,
                                 const cl_event*, cl_event* event) -> cl_int {
    if (event != nullptr) *event = reinterpret_cast<cl_event>(&only_event);
    return CL_SUCCESS;
  };
  table.clEnqueueSVMFree = [](cl_command_queue queue, cl_uint count, void* memory[],
                              void(CL_CALLBACK * function)(cl_command_queue, cl_uint, void*[], void*),
                              void* user_data, cl_uint, const cl_event*, cl_event*) -> cl_int {
    if (function != nullptr) function(queue, count, memory, user_data);
    return CL_SUCCESS;
  };
  table.clRetainEvent = [](cl_event) -> cl_int { return CL_SUCCESS; };
  table.clReleaseEvent = [](cl_event) -> cl_int { return CL_SUCCESS; };
  table.clSetEventCallback = [](cl_event event, cl_int, void(CL_CALLBACK * function)(cl_event, cl_int, void*),
                                void* user_data) -> cl_int {
    function(event, CL_COMPLETE, user_data);
    return CL_SUCCESS;
  };
  table.clGetEventProfilingInfo = [](cl_event, cl_profiling_info, size_t size, void* value,
                                     size_t* size_ret) -> cl_int {
    const cl_ulong time = 7;
    return answer(&time, sizeof(time), size, value, size_ret);
  };
  return table;
}

/// A process has only one layer. All its features are on, so that it makes all the calls that it can make.
class MissingFunctions : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const TemporaryFolder folder;
    setenv("PEAKMARK_PROFILE", (folder.path() / "p").c_str(), 1);
    for (const char* const on : {"PEAKMARK_SYNC", "PEAKMARK_WORK", "PEAKMARK_REFUSE_AT_USE"})
      setenv(on, "1", 1);
    setenv("PEAKMARK_BUDGET", "10000", 1);
    const Slots loader =
        loader_of<&Slots::clGetMemObjectInfo, &Slots::clSetMemObjectDestructorCallback,
                  &Slots::clCreateBuffer, &Slots::clRetainMemObject, &Slots::clReleaseMemObject,
                  &Slots::clSVMAlloc, &Slots::clSVMFree, &Slots::clEnqueueSVMFree,
                  &Slots::clCreateCommandQueue, &Slots::clRetainCommandQueue, &Slots::clReleaseCommandQueue,
                  &Slots::clGetCommandQueueInfo, &Slots::clFinish, &Slots::clEnqueueCopyBuffer,
                  &Slots::clRetainEvent, &Slots::clReleaseEvent, &Slots::clSetEventCallback,
                  &Slots::clGetEventProfilingInfo, &Slots::clGetContextInfo, &Slots::clGetDeviceInfo>();
    cl_uint entries = 0;
    ASSERT_EQ(clInitLayer(kSlots, &loader, &entries, &hooks), CL_SUCCESS);
  }

  void SetUp() override {
    fake = {};
    only_context.devices = {&device_};
    first_ = peakmark_event_count();
  }

  /// A program for OpenCL 1.0, which also uses SVM if the driver has it. It calls no function that the driver
  /// lacks.
  void run_program(const Slots& driver) {
    fake_driver_table = driver;
    const auto has = [&](auto slot) { return driver.*slot != nullptr; };
    cl_command_queue queue = nullptr;
    if (has(&Slots::clCreateCommandQueue))
      queue = hooks->clCreateCommandQueue(handle(only_context), handle(device_), 0, nullptr);
    for (const std::size_t bytes : {4000, 20'000}) {  // the budget refuses the second when it is used
      if (!has(&Slots::clCreateBuffer)) break;
      const cl_mem memory = hooks->clCreateBuffer(handle(only_context), 0, bytes, nullptr, nullptr);
      if (memory == nullptr) continue;  // refused at once, if the driver lacks what a later refusal needs
      for (int i = 0; i < 2 && queue != nullptr && has(&Slots::clEnqueueCopyBuffer); ++i) {
        cl_event event = nullptr;
        hooks->clEnqueueCopyBuffer(queue, memory, memory, 0, 0, 1, 0, nullptr, i == 0 ? nullptr : &event);
      }
      if (has(&Slots::clReleaseMemObject)) {
        hooks->clReleaseMemObject(memory);
      } else {
        unreleased_.push_back(memory);
      }
    }
    if (has(&Slots::clSVMAlloc)) {
      void* memory = hooks->clSVMAlloc(handle(only_context), 0, 100, 0);
      if (queue != nullptr && has(&Slots::clEnqueueSVMFree)) {
        hooks->clEnqueueSVMFree(queue, 1, &memory, nullptr, nullptr, 0, nullptr, nullptr);
      } else if (has(&Slots::clSVMFree)) {
        hooks->clSVMFree(handle(only_context), memory);
      }
    }
    peakmark_synchronise();
    if (queue != nullptr && has(&Slots::clReleaseCommandQueue)) hooks->clReleaseCommandQueue(queue);
  }

  std::vector<Event> events() const { return ProfileReader(peakmark_profile_path()).events(first_); }

  /// Objects that the fake driver keeps for ever. They stay reachable, so that LeakSanitizer does not report
  /// them.
  static inline std::vector<cl_mem>& unreleased_ = *new std::vector<cl_mem>;

  static inline const Slots* hooks = nullptr;
  FakeDevice device_;
  std::uint64_t first_ = 0;
};

TEST_F(MissingFunctions, NoneIsMissing) {
  run_program(whole_driver());
  const LedgerSummary summary = summarise(events());
  EXPECT_EQ(summary.peak_bytes, 4000);
  EXPECT_EQ(summary.live_at_end_bytes, 0);
}

/// Each function is removed in turn. A crash ends the test.
TEST_F(MissingFunctions, EachIsMissing) {
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    SCOPED_TRACE("entry " + std::to_string(slot));
    Entries entries = entries_of(whole_driver());
    entries[slot] = nullptr;
    first_ = peakmark_event_count();
    run_program(table_of(entries));
    if (table_of(entries).clCreateBuffer == nullptr) continue;
    // Without a release, the buffer is live when the program allocates 100 bytes of SVM.
    EXPECT_EQ(summarise(events()).peak_bytes, table_of(entries).clReleaseMemObject == nullptr ? 4100 : 4000);
  }
}

TEST_F(MissingFunctions, ADriverOfOpenCl10) {
  constexpr std::size_t kLater = offsetof(Slots, clSetEventCallback) / sizeof(void*);
  Entries entries = entries_of(whole_driver());
  std::fill(entries.begin() + kLater, entries.end(), nullptr);
  run_program(table_of(entries));
  const LedgerSummary summary = summarise(events());
  EXPECT_EQ(summary.peak_bytes, 4000);
  EXPECT_EQ(summary.live_at_end_bytes, 0);  // by the references of the program
  EXPECT_EQ(summary.failed_allocations, 1);
}

/// Without callbacks, memory counts as released when the program's last reference ends.
TEST_F(MissingFunctions, ReferencesAreCountedWithoutCallbacks) {
  static FakeDevice device;  // has its own budget
  static FakeContext context({&device});
  Slots driver = whole_driver();
  driver.clSetMemObjectDestructorCallback = nullptr;
  fake_driver_table = driver;
  const cl_mem memory = hooks->clCreateBuffer(handle(context), 0, 9000, nullptr, nullptr);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(hooks->clRetainMemObject(memory), CL_SUCCESS);
  driver.clReleaseMemObject = [](cl_mem) -> cl_int { return CL_SUCCESS; };
  unreleased_.push_back(memory);
  fake_driver_table = driver;
  EXPECT_EQ(hooks->clReleaseMemObject(memory), CL_SUCCESS);
  EXPECT_EQ(summarise(events()).live_at_end_bytes, 9000);
  EXPECT_EQ(hooks->clReleaseMemObject(memory), CL_SUCCESS);
  EXPECT_EQ(summarise(events()).live_at_end_bytes, 0);
  // Its bytes of the budget are free again.
  unreleased_.push_back(hooks->clCreateBuffer(handle(context), 0, 9000, nullptr, nullptr));
  EXPECT_NE(unreleased_.back(), nullptr);
}

/// With cl_khr_icd 2.0 the loader has its own table, and the driver's table may be empty.
TEST_F(MissingFunctions, ALoaderWithItsOwnTable) {
  Slots marked{};
  const std::uint64_t mark = 0x4F50454E434C3331;
  std::memcpy(static_cast<void*>(&marked.clGetPlatformIDs), &mark, sizeof(mark));
  const Slots empty{};
  const Slots* handle_without_mark = &empty;
  EXPECT_TRUE((driver_lacks<&Slots::clFinish>(&handle_without_mark)));
  const Slots* handle_with_mark = &marked;
  EXPECT_FALSE((driver_lacks<&Slots::clFinish>(&handle_with_mark)));
}

}  // namespace
}  // namespace peakmark::opencl_layer
