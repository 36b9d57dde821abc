// A CUDA program for ci/gpu-check that finds out which memory survives the end of a context: `peakmark
// record` of it must agree.
//   peakmark-context-memory pool              memory of a pool, after its context is destroyed
//   peakmark-context-memory primary-release   memory of the primary context, after its last release
//   peakmark-context-memory primary-reset     the same after a reset, and memory of another context
//   peakmark-context-memory handle            a handle of cuMemCreate, released while it is mapped
// Prints what the driver did, by the device's free memory, on standard error, and the bytes that a recorder
// must find on standard output. It loads the driver itself, so that there is no context of the runtime.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// Much larger than a context, whose memory is freed too. BYTES is for devices that cannot hold three.
std::size_t unit = std::size_t{4} << 30;
constexpr std::size_t kLater = 1'000'000;

void check(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, result);
  std::exit(3);
}

/// Calls a function of the driver. In cuda.h a macro names the newest version; the exported names are stable.
template <typename... Arguments>
void call(const char* name, Arguments... arguments) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* const function = driver == nullptr ? nullptr : dlsym(driver, name);
  if (function == nullptr) {
    std::fprintf(stderr, driver == nullptr ? "no libcuda.so.1 for %s\n" : "libcuda.so.1 has no %s\n", name);
    std::exit(4);
  }
  check(reinterpret_cast<CUresult (*)(Arguments...)>(function)(arguments...), name);
}

CUcontext create_context() {
  CUcontext context = nullptr;
  call("cuCtxCreate_v2", &context, 0U, CUdevice{0});
  return context;
}

CUcontext retain_primary() {
  CUcontext context = nullptr;
  call("cuDevicePrimaryCtxRetain", &context, CUdevice{0});
  return context;
}

void use(CUcontext context) {
  call("cuCtxSetCurrent", context);
}

void allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  call("cuMemAlloc_v2", &address, bytes);
}

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  call("cuMemGetInfo_v2", &free, &total);
  return free;
}

/// Returns how many of `bytes` live bytes are left after the free memory changed.
std::size_t surviving(std::size_t bytes, std::size_t free_before, std::size_t free_after) {
  const std::size_t freed = free_after > free_before ? free_after - free_before : 0;
  const std::size_t units = std::min((freed + unit / 2) / unit, bytes / unit);
  std::fprintf(stderr, "%zu bytes became free: of %zu live bytes %zu are left\n", freed, bytes,
               bytes - units * unit);
  return bytes - units * unit;
}

void expect(std::size_t peak, std::size_t live) {
  std::printf("{\"peak_bytes\": %zu, \"live_at_end_bytes\": %zu}\n", peak, live);
}

/// Allocates more afterwards: a recorder that keeps too much, or forgets memory, gets another peak and end.
void expect_after(std::size_t before, std::size_t left) {
  allocate(kLater);
  expect(std::max(before, left + kLater), left + kLater);
}

void pool() {
  CUcontext const observer = create_context();
  CUcontext const context = create_context();
  use(context);
  CUdeviceptr address = 0;
  call("cuMemAllocAsync", &address, unit, CUstream{nullptr});
  call("cuStreamSynchronize", CUstream{nullptr});
  use(observer);
  const std::size_t before = free_bytes();
  call("cuCtxDestroy_v2", context);
  expect_after(unit, surviving(unit, before, free_bytes()));
}

void primary_release() {
  CUcontext const observer = create_context();
  use(retain_primary());
  allocate(unit);
  use(observer);
  const std::size_t before = free_bytes();
  call("cuDevicePrimaryCtxRelease_v2", CUdevice{0});
  const std::size_t left = surviving(unit, before, free_bytes());
  use(retain_primary());
  expect_after(unit, left);
}

void primary_reset() {
  CUcontext const observer = create_context();
  use(observer);
  allocate(2 * unit);
  use(retain_primary());
  allocate(unit);
  use(observer);
  const std::size_t before = free_bytes();
  call("cuDevicePrimaryCtxReset_v2", CUdevice{0});
  const std::size_t left = surviving(3 * unit, before, free_bytes());
  use(retain_primary());
  expect_after(3 * unit, left);
}

void handle() {
  use(create_context());
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  std::size_t bytes = 0;
  call("cuMemGetAllocationGranularity", &bytes, static_cast<const CUmemAllocationProp*>(&properties),
       CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  CUmemGenericAllocationHandle handles[2]{};
  CUdeviceptr addresses[2]{};
  for (int i = 0; i < 2; ++i) {
    call("cuMemCreate", &handles[i], bytes, static_cast<const CUmemAllocationProp*>(&properties), 0ULL);
    call("cuMemAddressReserve", &addresses[i], bytes, std::size_t{0}, CUdeviceptr{0}, 0ULL);
    call("cuMemMap", addresses[i], bytes, std::size_t{0}, handles[i], 0ULL);
    call("cuMemRelease", handles[i]);  // the mapping alone keeps the memory
  }
  std::fprintf(stderr, "a released handle that is still mapped %s\n",
               handles[0] == handles[1] ? "is given out again" : "is not given out again");
  for (const CUdeviceptr address : addresses) call("cuMemUnmap", address, bytes);
  expect(2 * bytes, 0);
}

}  // namespace

int main(int argc, char** argv) {
  struct Scenario {
    const char* name;
    void (*run)();
  };
  constexpr Scenario kScenarios[] = {{"pool", pool},
                                     {"primary-release", primary_release},
                                     {"primary-reset", primary_reset},
                                     {"handle", handle}};
  for (const Scenario& scenario : kScenarios) {
    if (argc < 2 || std::strcmp(argv[1], scenario.name) != 0) continue;
    if (argc > 2) unit = std::strtoull(argv[2], nullptr, 10);
    call("cuInit", 0U);
    scenario.run();
    return 0;
  }
  std::fprintf(stderr, "usage: %s pool|primary-release|primary-reset|handle [BYTES]\n", argv[0]);
  return 2;
}
