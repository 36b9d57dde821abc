// Tests of call stacks of CUDA allocations, with a fake driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>

#include "base/files_testing.hpp"
#include "record/profile/profile.hpp"
#include "record/recorders/cupti/event_sink.hpp"
#include "record/recorders/cupti/tests/fake_cuda_driver.hpp"

namespace peakmark {
namespace {

[[gnu::noinline]] void allocate_here(CallRecorder& recorder, CUdeviceptr address, CUresult result) {
  call(recorder, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, cuMemAlloc_v2_params{&address, 1000}, result);
  asm volatile("");  // no tail call, which would not be on the stack
}
[[gnu::noinline]] void allocate_there(CallRecorder& recorder, CUdeviceptr address) {
  allocate_here(recorder, address, CUDA_SUCCESS);
  asm volatile("");
}

void run_program(ProfileWriter& writer) {
  FakeDriver driver;
  ProfileSink sink(writer);
  CallRecorder recorder(sink, driver, false);
  for (CUdeviceptr i = 1; i <= 3; ++i) allocate_here(recorder, i << 12, CUDA_SUCCESS);
  allocate_there(recorder, 9 << 12);
  allocate_here(recorder, 0, CUDA_ERROR_OUT_OF_MEMORY);
}

TEST(CudaCallStacks, AllocationsAndRefusalsHaveStacks) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "p";
  // Runs in a child process, because stacks are recorded for a whole process.
  const pid_t child = fork();
  if (child == 0) {
    setenv("PEAKMARK_PROFILE", path.c_str(), 1);
    setenv("PEAKMARK_STACKS", "1", 1);
    static ProfileWriter writer;
    if (!writer.open_from_environment("test 1")) _exit(1);
    run_program(writer);
    writer.close();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  std::map<std::uint64_t, int> allocations;
  std::set<std::uint64_t> stack_ids;
  std::set<std::uint64_t> refused;
  for (const Event& event : ProfileReader(path + "." + std::to_string(child)).events()) {
    if (event.type == EventType::allocation) ++allocations[event.amounts.stack];
    if (event.type == EventType::failed_allocation) refused.insert(event.amounts.stack);
    if (event.type == EventType::stack) stack_ids.insert(event.address);
  }
  // Three allocations are from the loop, and one is from another caller. The refused allocation is a third
  // place in the program.
  EXPECT_EQ(allocations.size(), 2U);
  EXPECT_EQ(refused.size(), 1U);
  EXPECT_EQ(stack_ids.size(), 3U);
  EXPECT_FALSE(stack_ids.contains(0));
  for (const auto& [stack, count] : allocations) EXPECT_TRUE(stack_ids.contains(stack)) << count;
}

}  // namespace
}  // namespace peakmark
