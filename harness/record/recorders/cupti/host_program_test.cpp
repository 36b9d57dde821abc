// The recorder runs inside another program, and must never end, block or change it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>

#include "record/recorders/cupti/recorder.hpp"
#include "record/recorders/cupti/tests/fake_cuda_driver.hpp"

namespace {

// The number of allocations before this thread runs out of memory; negative: there is no limit.
thread_local int allocations_left = -1;

}  // namespace

void* operator new(std::size_t bytes) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort calls this one.
void* operator new(std::size_t bytes, const std::nothrow_t& /*none*/) noexcept {
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace peakmark {
namespace {

using testing::HasSubstr;

/// Sums without allocating memory.
class SumSink : public EventSink {
 public:
  void allocation(const CudaAllocation& /*allocation*/) override { ++allocations; }
  void failed_allocation(const CudaAllocation& /*wanted*/, std::int32_t /*result*/,
                         RefusedBy /*limit*/) override {}
  void release(std::uint64_t /*address*/) override { ++releases; }
  void refused_release(const CudaAllocation& /*allocation*/, std::int32_t /*result*/) override {}
  void pool(std::uint64_t /*pool*/, std::int64_t /*reserved*/, std::int64_t /*used*/) override {}
  void note(const char* /*text*/) override {}
  void device(std::uint32_t /*ordinal*/, const char* /*name*/) override {}
  void invalid(const char* reason) override {
    ++invalid_notes;
    last_reason = reason;
  }
  int allocations = 0;
  int releases = 0;
  int invalid_notes = 0;
  const char* last_reason = "";
};

/// Calls of a program in which the `n`th host allocation fails.
void run(CallRecorder& recorder, int n) {
  CUdeviceptr address = 0x7000;
  CUmemGenericAllocationHandle memory = 5;
  auto* pool = reinterpret_cast<CUmemoryPool>(0x98);
  CUmemPoolProps pool_properties{};
  CUmemAllocationProp properties{};
  const std::function<void()> nothing = [] {};
  const auto make = [&](CUpti_CallbackId id, const auto& parameters) {
    call(recorder, id, parameters, CUDA_SUCCESS, nothing);
  };
  allocations_left = n;
  make(ID(cuMemAlloc_v2), cuMemAlloc_v2_params{&address, 100});
  make(ID(cuMemPoolCreate), cuMemPoolCreate_params{&pool, &pool_properties});
  make(ID(cuMemCreate), cuMemCreate_params{&memory, 4096, &properties, 0});
  make(ID(cuMemMap), cuMemMap_params{0x100000, 4096, 0, memory, 0});
  make(ID(cuMemRelease), cuMemRelease_params{memory});
  make(ID(cuMemUnmap), cuMemUnmap_params{0x100000, 4096});
  make(ID(cuMemPoolDestroy), cuMemPoolDestroy_params{pool});
  make(ID(cuMemFree_v2), cuMemFree_v2_params{address});
  make(ID(cuCtxDestroy_v2), cuCtxDestroy_v2_params{nullptr});
  allocations_left = -1;
}

TEST(HostProgram, ContinuesWhenTheRecorderCannotAllocate) {
  FakeDriver driver;
  bool has_run_out = false;
  for (int n = 0; n < 60; ++n) {
    SumSink sink;
    CallRecorder recorder(sink, driver, false);
    run(recorder, n);
    if (sink.invalid_notes == 0) {
      EXPECT_EQ(sink.allocations, 2) << n;
      EXPECT_EQ(sink.releases, 2) << n;
      EXPECT_TRUE(has_run_out);
      return;
    }
    has_run_out = true;
    EXPECT_EQ(sink.invalid_notes, 1) << n;
    EXPECT_THAT(sink.last_reason, HasSubstr("memory"));
  }
  FAIL() << "60 allocations do not suffice";
}

bool is_here_in(pid_t child, const OwnProcess& process) {
  if (child == 0) _exit(process.is_here() ? 1 : 0);
  int status = -1;
  waitpid(child, &status, 0);
  return status != 0;
}

TEST(OwnProcess, DetectsForks) {
  const OwnProcess process;
  EXPECT_TRUE(process.is_here());
  EXPECT_FALSE(is_here_in(fork(), process));
  // Forks as _Fork does, and as runtimes do that call no fork handlers.
  EXPECT_FALSE(is_here_in(static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)), process));
  EXPECT_TRUE(process.is_here());
}

}  // namespace
}  // namespace peakmark
