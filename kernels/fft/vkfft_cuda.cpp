#include <cuda.h>
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "kernels/fft/cuda_libraries.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/fft/fft_libraries.hpp"
#include "kernels/fft/plan_memory.hpp"

// The library calls the driver and the run-time compiler by name. Neither is linked, since a program must
// start if they are missing: each name is a macro for a function that is loaded at run time.
namespace peakmark {
namespace {

// cuda.h gives some functions the name of their latest version.
#define PEAKMARK_DRIVER_FUNCTIONS(X)         \
  X(device_attribute_, cuDeviceGetAttribute) \
  X(device_of, cuDeviceGet)                  \
  X(function_attribute, cuFuncSetAttribute)  \
  X(launch_kernel, cuLaunchKernel)           \
  X(copy_to_device, cuMemcpyHtoD)            \
  X(module_function, cuModuleGetFunction)    \
  X(module_global, cuModuleGetGlobal)        \
  X(load_module, cuModuleLoadDataEx)         \
  X(unload_module, cuModuleUnload)
#define PEAKMARK_COMPILER_FUNCTIONS(X)    \
  X(compile_program, nvrtcCompileProgram) \
  X(create_program, nvrtcCreateProgram)   \
  X(cubin, nvrtcGetCUBIN)                 \
  X(cubin_size, nvrtcGetCUBINSize)        \
  X(destroy_program, nvrtcDestroyProgram) \
  X(error_string, nvrtcGetErrorString)    \
  X(ptx, nvrtcGetPTX)                     \
  X(ptx_size, nvrtcGetPTXSize)            \
  X(program_log, nvrtcGetProgramLog)      \
  X(program_log_size, nvrtcGetProgramLogSize)

struct CudaForVkfft {
#define PEAKMARK_MEMBER(member, name) \
  decltype(&::name) member = nullptr; /* NOLINT(bugprone-macro-parentheses) */
  PEAKMARK_DRIVER_FUNCTIONS(PEAKMARK_MEMBER)
  PEAKMARK_COMPILER_FUNCTIONS(PEAKMARK_MEMBER)
#undef PEAKMARK_MEMBER
};

#define PEAKMARK_TEXT_OF(name) #name
#define PEAKMARK_TEXT(name) PEAKMARK_TEXT_OF(name)

/// Throws Unsupported if there is no driver or no compiler.
const CudaForVkfft& cuda() {
  static const CudaForVkfft api = [] {
    CudaForVkfft loaded;
    void* driver = open_cuda_library("libcuda.so.1");
    void* compiler = open_cuda_library(fmt::format("libnvrtc.so.{}", CUDA_VERSION / 1000));
#define PEAKMARK_LOOK_UP_DRIVER(member, name) \
  loaded.member = reinterpret_cast<decltype(loaded.member)>(function_of_library(driver, PEAKMARK_TEXT(name)));
#define PEAKMARK_LOOK_UP_COMPILER(member, name) \
  loaded.member =                               \
      reinterpret_cast<decltype(loaded.member)>(function_of_library(compiler, PEAKMARK_TEXT(name)));
    PEAKMARK_DRIVER_FUNCTIONS(PEAKMARK_LOOK_UP_DRIVER)
    PEAKMARK_COMPILER_FUNCTIONS(PEAKMARK_LOOK_UP_COMPILER)
#undef PEAKMARK_LOOK_UP_DRIVER
#undef PEAKMARK_LOOK_UP_COMPILER
    return loaded;
  }();
  return api;
}

CUresult device_attribute(int* value, CUdevice_attribute what, CUdevice device) {
  const CUresult result = cuda().device_attribute_(value, what, device);
  if (what == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK ||
      what == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    *value = std::min(*value, static_cast<int>(kVkfftLocalMemoryBytes));
  return result;
}

/// `asked` is the source text of the library's argument, which alone shows the purpose of the memory.
template <typename Pointer>
cudaError_t allocate(Pointer* pointer, std::size_t bytes, std::string_view asked) {
  const PlanMemory::Use use =
      asked.find("tempBuffer") != std::string_view::npos ? PlanMemory::Use::work : PlanMemory::Use::table;
  *pointer = reinterpret_cast<Pointer>(PlanMemory::current()->allocate(bytes, use));
  return *pointer != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t copy_to_plan(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (kind != cudaMemcpyHostToDevice) return cudaErrorNotSupported;
  const bool written = PlanMemory::current()->write(reinterpret_cast<std::uintptr_t>(to), from, bytes);
  return written ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t release(void* pointer) {
  PlanMemory::current()->release(reinterpret_cast<std::uintptr_t>(pointer));
  return cudaSuccess;
}

/// A program of the library, in place of NVRTC's: its text, and the code that was compiled from it, now or
/// for an earlier plan.
struct VkfftProgram {
  std::string text;
  std::shared_ptr<std::string> code;  ///< a cubin or PTX: the driver loads both
  std::string log;
};

VkfftProgram& program_of(nvrtcProgram handle) {
  return *reinterpret_cast<VkfftProgram*>(handle);
}

const std::string& code_of(nvrtcProgram handle) {
  return *program_of(handle).code;
}

template <typename GetSize, typename Get>
nvrtcResult get_code(nvrtcProgram made, std::string& code, GetSize get_size, Get get) {
  std::size_t bytes = 0;
  const nvrtcResult result = get_size(made, &bytes);
  if (result != NVRTC_SUCCESS) return result;
  code.resize(bytes);
  return get(made, code.data());
}

/// Returns null, with a log, if NVRTC fails; `result` is the reason. `option`: the device's architecture.
std::shared_ptr<std::string> compile(VkfftProgram& program, const char* option, nvrtcResult& result) {
  nvrtcProgram made = nullptr;
  result = cuda().create_program(&made, program.text.c_str(), "VkFFT.cu", 0, nullptr, nullptr);
  if (result != NVRTC_SUCCESS) return nullptr;
  auto code = std::make_shared<std::string>();
  result = cuda().compile_program(made, 1, &option);
  // This NVRTC is older than the device, whose driver compiles PTX for it.
  const bool as_ptx = result == NVRTC_ERROR_INVALID_OPTION;
  if (as_ptx) result = cuda().compile_program(made, 0, nullptr);
  if (result != NVRTC_SUCCESS) {
    std::size_t bytes = 0;
    if (cuda().program_log_size(made, &bytes) == NVRTC_SUCCESS) {
      program.log.resize(bytes);
      cuda().program_log(made, program.log.data());
    }
  } else {
    result = as_ptx ? get_code(made, *code, cuda().ptx_size, cuda().ptx)
                    : get_code(made, *code, cuda().cubin_size, cuda().cubin);
  }
  cuda().destroy_program(&made);
  return result == NVRTC_SUCCESS ? code : nullptr;
}

nvrtcResult create_program(nvrtcProgram* program, const char* text, const char* /*name*/, int headers,
                           const char* const* /*texts*/, const char* const* /*names*/) {
  if (headers != 0) return NVRTC_ERROR_INVALID_INPUT;
  *program = reinterpret_cast<nvrtcProgram>(new VkfftProgram{text, nullptr, {}});
  return NVRTC_SUCCESS;
}

nvrtcResult compile_program(nvrtcProgram handle, int options, const char* const* texts) {
  // Programs are cached only by their text, since a device has one architecture.
  if (options != 1 || !std::string_view(texts[0]).starts_with("--gpu-architecture="))
    return NVRTC_ERROR_INVALID_OPTION;
  VkfftProgram& program = program_of(handle);
  nvrtcResult result = NVRTC_SUCCESS;
  program.code = PlanMemory::current()->device().cached<std::string>(
      program.text, [&] { return compile(program, texts[0], result); });
  return result;
}

nvrtcResult code_size(nvrtcProgram handle, std::size_t* bytes) {
  *bytes = code_of(handle).size();
  return NVRTC_SUCCESS;
}

nvrtcResult copy_code(nvrtcProgram handle, char* to) {
  code_of(handle).copy(to, std::string::npos);
  return NVRTC_SUCCESS;
}

nvrtcResult copy_log(nvrtcProgram handle, char* to) {
  const std::string& log = program_of(handle).log;
  std::copy_n(log.c_str(), log.size() + 1, to);
  return NVRTC_SUCCESS;
}

nvrtcResult destroy_program(nvrtcProgram* handle) {
  delete reinterpret_cast<VkfftProgram*>(std::exchange(*handle, nullptr));
  return NVRTC_SUCCESS;
}

}  // namespace
}  // namespace peakmark

#undef cuMemcpyHtoD
#undef cuModuleGetGlobal
#define cudaMalloc(pointer, bytes) peakmark::allocate(pointer, bytes, #pointer)
#define cudaMemcpy peakmark::copy_to_plan
#define cudaFree peakmark::release
#define cuDeviceGetAttribute peakmark::device_attribute
#define cuFuncSetAttribute peakmark::cuda().function_attribute
#define cuLaunchKernel peakmark::cuda().launch_kernel
#define cuMemcpyHtoD peakmark::cuda().copy_to_device
#define cuModuleGetFunction peakmark::cuda().module_function
#define cuModuleGetGlobal peakmark::cuda().module_global
#define cuModuleLoadDataEx peakmark::cuda().load_module
#define cuModuleUnload peakmark::cuda().unload_module
#define nvrtcCompileProgram peakmark::compile_program
#define nvrtcCreateProgram peakmark::create_program
#define nvrtcDestroyProgram peakmark::destroy_program
#define nvrtcGetErrorString peakmark::cuda().error_string
#define nvrtcGetCUBIN peakmark::copy_code
#define nvrtcGetCUBINSize peakmark::code_size
#define nvrtcGetProgramLog peakmark::copy_log
#define VKFFT_BACKEND 1
#include <vkFFT.h>

namespace peakmark {
namespace {

using VkfftHandle = void*;

class VkfftBackend {
 public:
  explicit VkfftBackend(Device& device) : stream_(device.cuda_stream()) {
    const CUresult result = cuda().device_of(&device_, device.index());
    if (result != CUDA_SUCCESS)
      throw MeasurementError(
          fmt::format("the driver has no device {} (its code {})", device.index(), static_cast<int>(result)));
  }

  void configure(VkFFTConfiguration& configuration) {
    configuration.device = &device_;
    configuration.stream = &stream_;
    configuration.num_streams = 1;
  }
  void launch(VkFFTLaunchParams& /*launch*/) {}
  void enter() const {}
  [[nodiscard]] static bool is_dry() { return false; }

  /// Addresses are numbers here, so the address of a line is passed and no kernel gets an offset. An offset
  /// would be written into the kernel's constants while an earlier launch may still read them.
  static constexpr bool kOffsets = false;
  static constexpr bool kHoldsWrittenTables = true;
  static VkfftHandle at(const DeviceArray& array, std::uint64_t offset) {
    return static_cast<std::byte*>(array.cuda()) + offset;
  }

 private:
  CUdevice device_ = 0;
  cudaStream_t stream_;
};

}  // namespace
}  // namespace peakmark

#include "kernels/fft/vkfft_plan.inc"

namespace peakmark {

std::unique_ptr<RealFft> make_vkfft_cuda(Device& device, const FftPlan& plan) {
  return std::make_unique<VkfftFft>(device, plan);
}

}  // namespace peakmark
