// A CUDA program of known bytes for ci/gpu-check: `peakmark record` of it must show these bytes.
//   peakmark-every-allocation            every kind of memory at once, a failure, and all of it released;
//                                        prints the peak that a recorder must find
//   peakmark-every-allocation fill B     allocates until it is refused, under `record --budget B`; fails
//                                        if it gets more than B, or far less; prints what a recorder must
//                                        find
//   peakmark-every-allocation loop N     N times cudaMallocAsync and cudaFreeAsync; prints ns per event
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

void check(int result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "%s: CUDA error %d\n", what, result);
  std::exit(3);
}
#define CHECK(call) check(static_cast<int>(call), #call)

template <typename Function>
Function driver(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
#else
  CHECK(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found));
#endif
  if (function == nullptr) check(500, name);
  return reinterpret_cast<Function>(function);
}
#define DRIVER(name) driver<decltype(&(name))>(#name)

/// cuMemCreate, mapped; the handle is released at once, so that the mapping alone keeps the memory.
class MappedMemory {
 public:
  explicit MappedMemory(int device) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device;
    CHECK(DRIVER(cuMemGetAllocationGranularity)(&bytes_, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CUmemGenericAllocationHandle handle = 0;
    CHECK(DRIVER(cuMemCreate)(&handle, bytes_, &properties, 0));
    CHECK(DRIVER(cuMemAddressReserve)(&address_, bytes_, 0, 0, 0));
    CHECK(DRIVER(cuMemMap)(address_, bytes_, 0, handle, 0));
    CHECK(DRIVER(cuMemRelease)(handle));
  }
  void release() {
    CHECK(DRIVER(cuMemUnmap)(address_, bytes_));
    CHECK(DRIVER(cuMemAddressFree)(address_, bytes_));
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  CUdeviceptr address_ = 0;
};

void every_kind() {
  std::uint64_t peak = 0;
  void* plain = nullptr;
  CHECK(cudaMalloc(&plain, 1'000'001));
  peak += 1'000'001;
  void* pitched = nullptr;
  std::size_t pitch = 0;
  CHECK(cudaMallocPitch(&pitched, &pitch, 1000, 33));
  peak += pitch * 33;
  void* managed = nullptr;
  CHECK(cudaMallocManaged(&managed, 65'537));
  peak += 65'537;
  void* async = nullptr;
  CHECK(cudaMallocAsync(&async, 300'001, nullptr));
  peak += 300'001;
  const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
  cudaArray_t flat = nullptr;
  CHECK(cudaMallocArray(&flat, &format, 640, 480));
  peak += std::size_t{640} * 480 * 4;
  cudaArray_t deep = nullptr;
  CHECK(cudaMalloc3DArray(&deep, &format, {64, 48, 32}, 0));
  peak += std::size_t{64} * 48 * 32 * 4;
  cudaMipmappedArray_t mipmapped = nullptr;
  CHECK(cudaMallocMipmappedArray(&mipmapped, &format, {64, 64, 0}, 3, 0));
  peak += std::size_t{64 * 64 + 32 * 32 + 16 * 16} * 4;
  MappedMemory mapped(0);
  peak += mapped.bytes();

  // Not part of the peak.
  void* pinned = nullptr;
  CHECK(cudaHostAlloc(&pinned, 77'777, cudaHostAllocDefault));
  std::vector<char> own(1 << 20);
  CHECK(cudaHostRegister(own.data(), own.size(), cudaHostRegisterDefault));

  void* refused = nullptr;
  if (cudaMalloc(&refused, std::size_t{1} << 60) != cudaErrorMemoryAllocation)
    check(999, "a refused cudaMalloc");
  cudaGetLastError();
  CHECK(cudaDeviceSynchronize());

  CHECK(cudaHostUnregister(own.data()));
  CHECK(cudaFreeHost(pinned));
  mapped.release();
  CHECK(cudaFreeMipmappedArray(mipmapped));
  CHECK(cudaFreeArray(deep));
  CHECK(cudaFreeArray(flat));
  CHECK(cudaFreeAsync(async, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(managed));
  CHECK(cudaFree(pitched));
  CHECK(cudaFree(plain));

  // Threads that reuse each other's addresses; 4 · 1,000 bytes are far below the peak.
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 200; ++round) {
        void* memory = nullptr;
        CHECK(cudaMalloc(&memory, 1000));
        CHECK(cudaFree(memory));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf(
      "{\"peak_bytes\": %llu, \"live_at_end_bytes\": 0, \"failed_allocations\": 1, \"allocations\": %d}\n",
      static_cast<unsigned long long>(peak), 8 + 4 * 200);
}

void fill(std::size_t budget) {
  constexpr std::size_t kBlock = std::size_t{8} << 20;
  constexpr std::size_t kSlack = std::size_t{64} << 20;  // granularity, and what the driver takes meanwhile
  std::size_t free = 0;
  std::size_t total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  std::vector<void*> blocks;
  void* block = nullptr;
  while (cudaMalloc(&block, kBlock) == cudaSuccess) blocks.push_back(block);
  cudaGetLastError();
  const std::size_t got = blocks.size() * kBlock;
  if (free > budget || got > budget || got + kSlack < budget) {
    std::fprintf(stderr, "of a budget of %zu bytes %zu were free, and %zu could be allocated\n", budget, free,
                 got);
    std::exit(3);
  }
  for (void* const one : blocks) CHECK(cudaFree(one));
  std::printf(
      "{\"peak_bytes\": %zu, \"live_at_end_bytes\": 0, \"failed_allocations\": 1, \"allocations\": %zu}\n",
      got, blocks.size());
}

void loop(int rounds) {
  const auto once = [] {
    void* memory = nullptr;
    CHECK(cudaMallocAsync(&memory, 4096, nullptr));
    CHECK(cudaFreeAsync(memory, nullptr));
  };
  for (int i = 0; i < 100; ++i) once();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < rounds; ++i) once();
  const auto ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start);
  CHECK(cudaDeviceSynchronize());
  std::printf("{\"events\": %d, \"ns_an_event\": %.1f}\n", 2 * rounds,
              static_cast<double>(ns.count()) / (2.0 * rounds));
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(nullptr));
  if (argc == 3 && std::strcmp(argv[1], "loop") == 0) {
    loop(std::atoi(argv[2]));
  } else if (argc == 3 && std::strcmp(argv[1], "fill") == 0) {
    fill(std::strtoull(argv[2], nullptr, 10));
  } else {
    every_kind();
  }
  return 0;
}
