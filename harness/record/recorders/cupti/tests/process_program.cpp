// process_program END: allocates 10 MB, then ends itself or CUPTI as END says. Prints "goes on" at the end,
// if it gets there.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "record/recorders/cupti/tests/fake_libcuda.h"
#include "record/recorders/phase.h"

namespace {

constexpr std::size_t kMega = 1'000'000;

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, static_cast<int>(result));
  std::exit(3);
}
#define CHECK(call) check(call, #call)

CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  CHECK(cuMemAlloc(&address, bytes));
  return address;
}

void start() {
  CUcontext context = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
}

/// Returns a function of the CUPTI library that the recorder has loaded.
void call_cupti(const char* function) {
  for (const char* const name : {"libcupti.so.13", "libcupti.so.12"}) {
    void* const cupti = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (cupti == nullptr) continue;
    reinterpret_cast<int (*)()>(dlsym(cupti, function))();
    return;
  }
  std::fputs("there is no CUPTI\n", stderr);
  std::exit(3);
}

/// Forks children while threads of the parent make calls. CUDA does not work in a child. An alarm ends a
/// child that hangs. Returns how many did not end by themselves.
int fork_children(int children, CUdeviceptr memory) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&stop] {
      start();
      while (!stop) CHECK(cuMemFree(allocate(1000)));
    });
  }
  int wrong = 0;
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      CUdeviceptr address = 0;
      const bool refused = cuMemFree(memory) == CUDA_ERROR_NOT_INITIALIZED &&
                           cuMemAlloc(&address, 1) == CUDA_ERROR_NOT_INITIALIZED;
      _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    wrong += status != 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

void launch(int kernels) {
  for (int i = 0; i < kernels; ++i)
    CHECK(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
}

/// Allocates on each of the two devices until it is refused. Prints what it got, and what was reported free
/// before.
void fill_devices() {
  for (int device = 0; device < 2; ++device) {
    CUcontext context = nullptr;
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    std::size_t free = 0;
    std::size_t total = 0;
    CHECK(cuMemGetInfo(&free, &total));
    std::size_t got = 0;
    CUdeviceptr address = 0;
    while (cuMemAlloc(&address, kMega) == CUDA_SUCCESS) got += kMega;
    std::printf("%zu of %zu free, got %zu\n", free, total, got);
  }
}

/// Calls that use memory of every kind. Each keeps 4096 bytes of the device and 512 write-combined bytes of
/// the host, and the first two keep a pool block. Memory of the pool is released in the order of the stream.
void repeat_calls() {
  for (long i = 0; i < peakmark_calls(); ++i) {
    peakmark_phase("call");
    allocate(4096);
    void* host = nullptr;
    CHECK(cuMemHostAlloc(&host, 512, CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_DEVICEMAP));
    void* mapped = nullptr;
    CHECK(cuMemHostAlloc(&mapped, 256, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK(cuMemFreeHost(mapped));
    CUdeviceptr pitched = 0;
    std::size_t pitch = 0;
    CHECK(cuMemAllocPitch(&pitched, &pitch, 100, 10, 4));
    CHECK(cuMemFree(pitched));
    CUdeviceptr managed = 0;
    CHECK(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemFree(managed));
    CUdeviceptr of_pool = 0;
    CHECK(cuMemAllocAsync(&of_pool, 3000, nullptr));
    if (i > 1) CHECK(cuMemFreeAsync(of_pool, nullptr));
    peakmark_phase("");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string end = argc > 1 ? argv[1] : "";
  if (end == "cupti12" && dlopen("libcupti.so.12", RTLD_NOW | RTLD_LOCAL) == nullptr) return 3;
  start();
  if (end == "repeat") {
    repeat_calls();
    return 0;
  }
  if (end == "fill") {
    fill_devices();
    return 0;
  }
  if (end == "second") {
    void* const driver = argc > 2 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (driver == nullptr) return 3;
    for (int i = 0; i < 2; ++i)
      CHECK(reinterpret_cast<CUresult(CUDAAPI*)(unsigned)>(dlsym(driver, "cuInit"))(0));
  }
  const CUdeviceptr memory = allocate(10 * kMega);
  if (end == "_exit") _exit(4);
  if (end == "kill") raise(SIGKILL);
  if (end == "abort") std::abort();
  if (end == "fork") std::printf("%d wrong\n", fork_children(argc > 2 ? std::atoi(argv[2]) : 30, memory));
  if (end == "fatal") call_cupti("fake_cupti_fatal_error");
  if (end == "finalize") call_cupti("cuptiFinalize");
  if (end == "kernels" || end == "kernels_exit") launch(10);
  if (end == "kernels_exit") _exit(0);
  if (end == "work") {
    const std::uint64_t before = fake_cuda_synchronisations();
    launch(1);
    CHECK(cuMemcpyHtoDAsync(memory, &memory, 8, nullptr));
    CHECK(cuMemsetD8Async(memory, 0, 8, nullptr));
    std::printf("%d waits\n", static_cast<int>(fake_cuda_synchronisations() - before));
  }
  if (end == "refused") {
    CUdeviceptr none = 0;
    if (cuMemAlloc(&none, std::size_t{1} << 45) != CUDA_ERROR_OUT_OF_MEMORY) return 3;
  }
  const CUdeviceptr more = allocate(5 * kMega);
  if (end == "clean") {
    CHECK(cuMemFree(more));
    CHECK(cuMemFree(memory));
    CHECK(cuDevicePrimaryCtxRelease(0));
  }
  std::puts("goes on");
  return end == "seven" ? 7 : 0;
}
