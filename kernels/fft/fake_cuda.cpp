// The functions of CUDA's driver and run-time compiler that VkFFT calls to make a plan, for tests without a
// GPU. The fake GPU has the limits of all GPUs since compute capability 5.0; the compiler accepts every
// program. Built twice, as libcuda and as libnvrtc.
#include <cuda.h>
#include <nvrtc.h>

#include <cstddef>

namespace {

/// Handles that are never used.
char object;

template <typename Handle>
Handle any() {
  return reinterpret_cast<Handle>(&object);
}

}  // namespace

extern "C" {

/// The number of compilations, for tests.
int fake_nvrtc_compilations = 0;

CUresult cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute what, CUdevice /*device*/) {
  switch (what) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      *value = 1024;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      *value = 64;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      *value = 2'147'483'647;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      *value = 65'535;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      *value = 48 << 10;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 227 << 10;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
      *value = 2;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuFuncSetAttribute(CUfunction /*function*/, CUfunction_attribute /*what*/, int /*value*/) {
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        CUstream, void**, void**) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuMemcpyHtoD(CUdeviceptr /*to*/, const void* /*from*/, std::size_t /*bytes*/) {
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule /*module*/, const char* /*name*/) {
  *function = any<CUfunction>();
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr* /*address*/, std::size_t* /*bytes*/, CUmodule /*module*/,
                           const char* /*name*/) {
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* /*image*/, unsigned /*count*/,
                            CUjit_option* /*options*/, void** /*values*/) {
  *module = any<CUmodule>();
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule /*module*/) {
  return CUDA_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* /*text*/, const char* /*name*/,
                               int /*count*/, const char* const* /*headers*/, const char* const* /*names*/) {
  *program = any<nvrtcProgram>();
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  *program = nullptr;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcCompileProgram(nvrtcProgram /*program*/, int /*count*/, const char* const* /*options*/) {
  ++fake_nvrtc_compilations;
  return NVRTC_SUCCESS;
}
const char* nvrtcGetErrorString(nvrtcResult /*result*/) {
  return "an error";
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram /*program*/, std::size_t* bytes) {
  *bytes = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram /*program*/, char* code) {
  *code = '\0';
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTXSize(nvrtcProgram /*program*/, std::size_t* bytes) {
  *bytes = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram /*program*/, char* text) {
  *text = '\0';
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram /*program*/, std::size_t* bytes) {
  *bytes = 1;
  return NVRTC_SUCCESS;
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram /*program*/, char* text) {
  *text = '\0';
  return NVRTC_SUCCESS;
}

}  // extern "C"
