// Kernels and variables that programs compiled by nvcc register with the runtime, and their launches.
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "record/recorders/cupti/clients/cudart.hpp"

using own_cudart::end;
using own_cudart::make;

namespace {

/// The argument of __cudaRegisterFatBinary (fatbinary_section.h).
struct FatBinary {
  int magic;
  int version;
  const void* data;
  void* file_name;
};

/// An image of a program. It is loaded when something in it is used.
struct Image {
  const FatBinary* binary = nullptr;
  CUlibrary library = nullptr;
};
struct Kernel {
  Image* image = nullptr;
  std::string name;
  CUkernel handle = nullptr;
};
struct Variable {
  Image* image = nullptr;
  std::string name;
};
struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};

// Never destroyed, because libraries unregister themselves at exit.
struct Registry {
  std::mutex mutex;
  std::map<const void*, Kernel> kernels;  ///< by host function
  std::map<const void*, Variable> variables;
};
Registry& registry() {
  static auto* const one = new Registry;
  return *one;
}
thread_local std::vector<Configuration> configurations;

CUresult load(Image& image) {
  if (image.library != nullptr) return CUDA_SUCCESS;
  return cuLibraryLoadData(&image.library, image.binary->data, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

CUresult find_kernel(const void* host_function, CUkernel& kernel) {
  const std::scoped_lock lock(registry().mutex);
  const auto found = registry().kernels.find(host_function);
  if (found == registry().kernels.end()) return static_cast<CUresult>(cudaErrorInvalidDeviceFunction);
  if (found->second.handle == nullptr) {
    if (const CUresult result = load(*found->second.image); result != CUDA_SUCCESS) return result;
    const CUresult result =
        cuLibraryGetKernel(&found->second.handle, found->second.image->library, found->second.name.c_str());
    if (result != CUDA_SUCCESS) return result;
  }
  kernel = found->second.handle;
  return CUDA_SUCCESS;
}

/// Makes a driver call with the kernel of a host function, or with a cudaKernel_t.
template <typename Call>
cudaError_t with_function(const void* host_function, Call call) {
  return make([&]() -> CUresult {
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    if (const CUresult result = find_kernel(host_function, kernel); result != CUDA_SUCCESS) return result;
    if (const CUresult result = cuKernelGetFunction(&function, kernel); result != CUDA_SUCCESS) return result;
    return call(function);
  });
}

CUresult set_attributes(cudaFuncAttributes& attributes, CUfunction function) {
  std::memset(&attributes, 0, sizeof(attributes));
  const auto value = [function](CUfunction_attribute which) {
    int found = 0;
    cuFuncGetAttribute(&found, which, function);
    return found;
  };
  attributes.sharedSizeBytes = static_cast<std::size_t>(value(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  attributes.maxThreadsPerBlock = value(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  attributes.numRegs = value(CU_FUNC_ATTRIBUTE_NUM_REGS);
  attributes.ptxVersion = value(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  attributes.binaryVersion = value(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  attributes.maxDynamicSharedSizeBytes = value(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return CUDA_SUCCESS;
}

CUresult launch(CUfunction function, const Configuration& c, void** arguments) {
  return cuLaunchKernel(function, c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z,
                        static_cast<unsigned>(c.shared), c.stream, arguments, nullptr);
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* binary) {
  return reinterpret_cast<void**>(new Image{static_cast<const FatBinary*>(binary)});
}
void __cudaRegisterFatBinaryEnd(void** /*handle*/) {}
void __cudaUnregisterFatBinary(void** /*handle*/) {}
char __cudaInitModule(void** /*handle*/) {
  return 1;
}
void __cudaRegisterFunction(void** handle, const char* host_function, char* /*device_function*/,
                            const char* device_name, int /*limit*/, void* /*thread*/, void* /*block*/,
                            void* /*block_size*/, void* /*grid_size*/, int* /*warp_size*/) {
  const std::scoped_lock lock(registry().mutex);
  registry().kernels[host_function] = {reinterpret_cast<Image*>(handle), device_name, nullptr};
}
void __cudaRegisterVar(void** handle, char* host_variable, char* /*device_address*/, const char* device_name,
                       int /*external*/, std::size_t /*bytes*/, int /*constant*/, int /*global*/) {
  const std::scoped_lock lock(registry().mutex);
  registry().variables[host_variable] = {reinterpret_cast<Image*>(handle), device_name};
}
void __cudaRegisterManagedVar(void** handle, void** host_address, char* /*device_address*/,
                              const char* device_name, int /*external*/, std::size_t /*bytes*/,
                              int /*constant*/, int /*global*/) {
  const std::scoped_lock lock(registry().mutex);
  registry().variables[host_address] = {reinterpret_cast<Image*>(handle), device_name};
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}
// The handle is the address of the host function, so that nothing is loaded before a launch.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host_function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared,
                          stream == nullptr ? cudaStreamPerThread : stream);
}

cudaError_t cudaLaunchKernel(const void* func, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return with_function(func, [&](CUfunction function) {
    return launch(function, {grid, block, shared, stream}, arguments);
  });
}
cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  return with_function(func, [&](CUfunction function) {
    return launch(function, {grid, block, shared, stream}, arguments);
  });
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func, void** arguments) {
  return with_function(func, [&](CUfunction function) {
    return launch(function, {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream},
                  arguments);
  });
}
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* functionPtr, const void* symbolPtr) {
  return with_function(symbolPtr, [&](CUfunction function) {
    *functionPtr = function;
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return make([&] { return cuLaunchHostFunc(stream, fn, userData); });
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, const void* func) {
  return with_function(func, [&](CUfunction function) { return set_attributes(*attr, function); });
}
cudaError_t cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
  return with_function(func, [&](CUfunction function) {
    return cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(attr), value);
  });
}
cudaError_t cudaFuncSetCacheConfig(const void* /*func*/, cudaFuncCache /*config*/) {
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* func, int blockSize,
                                                          size_t shared) {
  return with_function(func, [&](CUfunction function) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, blockSize, shared);
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* func,
                                                                   int blockSize, size_t shared,
                                                                   unsigned flags) {
  return with_function(func, [&](CUfunction function) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, blockSize, shared, flags);
  });
}

cudaError_t cudaGetSymbolAddress(void** devPtr, const void* symbol) {
  return make([&]() -> CUresult {
    const std::scoped_lock lock(registry().mutex);
    const auto found = registry().variables.find(symbol);
    if (found == registry().variables.end()) return static_cast<CUresult>(cudaErrorInvalidSymbol);
    if (const CUresult result = load(*found->second.image); result != CUDA_SUCCESS) return result;
    std::size_t bytes = 0;
    return cuLibraryGetGlobal(reinterpret_cast<CUdeviceptr*>(devPtr), &bytes, found->second.image->library,
                              found->second.name.c_str());
  });
}

}  // extern "C"
