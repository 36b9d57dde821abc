// planted_cuda_program BEHAVIOUR FILE: makes three allocations of 64, 128 and 32 KiB, and writes a result to
// FILE. Takes a refused one as BEHAVIOUR says.
// planted_cuda_program batch N: allocates 5 MB and N times 1 MB.
#include <cuda.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kMega = 1'000'000;

CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  return cuMemAlloc(&address, bytes) == CUDA_SUCCESS ? address : 0;
}

[[noreturn]] void end(int code, const char* message) {
  std::fprintf(stderr, "%s\n", message);
  std::exit(code);
}

int run_batch(std::size_t images) {
  for (const std::size_t bytes : {5 * kMega, images * kMega}) {
    if (allocate(bytes) == 0) end(1, "CUDA_ERROR_OUT_OF_MEMORY");
  }
  return 0;
}

/// Returns the bytes that it allocated instead, or 0 if there were none.
CUdeviceptr take_refusal(const std::string& behaviour, std::size_t bytes, const char* file,
                         std::vector<CUdeviceptr>& memory) {
  if (behaviour == "handled") end(1, "error: out of device memory");
  if (behaviour == "silent") end(3, "error: cannot continue");
  if (behaviour == "abort") std::abort();
  if (behaviour == "kill") raise(SIGKILL);
  if (behaviour == "retry") return allocate(bytes);
  if (behaviour == "collect") {
    for (const CUdeviceptr address : memory) cuMemFree(address);
    memory.clear();
    const CUdeviceptr address = allocate(bytes);
    if (address == 0) end(1, "error: out of device memory");
    return address;
  }
  if (behaviour == "smaller") return allocate(bytes / 2);
  if (behaviour == "leak") {
    memory.clear();  // forgotten
    return allocate(bytes);
  }
  const CUdeviceptr again = behaviour == "retry_or_wrong" ? allocate(bytes) : 0;
  if (again != 0) return again;
  if (behaviour == "wrong" || behaviour == "retry_or_wrong") {
    std::ofstream(file) << "0\n";
    std::exit(0);
  }
  return 0;  // continues without it
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  const std::string behaviour = argv[1];
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS)
    end(65, "no CUDA");
  if (behaviour == "batch") return run_batch(std::strtoull(argv[2], nullptr, 10));
  std::vector<CUdeviceptr> memory;
  for (const std::size_t bytes : {64 << 10, 128 << 10, 32 << 10}) {
    CUdeviceptr address = allocate(bytes);
    if (address == 0) address = take_refusal(behaviour, bytes, argv[2], memory);
    if (address != 0) memory.push_back(address);
  }
  std::ofstream(argv[2]) << "42\n";
  for (const CUdeviceptr address : memory) cuMemFree(address);
  return 0;
}
