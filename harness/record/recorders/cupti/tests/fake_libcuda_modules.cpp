// Modules, libraries and kernels of the fake driver.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "record/recorders/cupti/tests/fake_libcuda.hpp"
#include "record/recorders/cupti/tests/module_image.hpp"

using fake_cuda::Kind;
using fake_cuda::State;

namespace {

CUmodule module_of(CUlibrary library) {
  return reinterpret_cast<CUmodule>(library);
}
CUfunction function_of(CUkernel kernel) {
  return reinterpret_cast<CUfunction>(kernel);
}

CUresult load(State& s, CUmodule* module, const void* image, bool is_library) {
  CUcontext context = nullptr;
  if (const CUresult result = fake_cuda::current_context(context); result != CUDA_SUCCESS && !is_library)
    return result;
  auto made = std::make_unique<CUmod_st>();
  const fake_cuda::ModuleImage found = fake_cuda::read_image(image);
  made->is_known = found.is_known;
  made->is_library = is_library;
  made->context = is_library ? nullptr : context;
  for (const auto& kernel : found.kernels) {
    made->functions[kernel.name] = {.module = made.get(),
                                    .name = kernel.name,
                                    .registers = kernel.registers,
                                    .shared_bytes = kernel.shared_bytes};
  }
  for (const auto& [name, bytes] : found.globals) {
    const CUdeviceptr address = s.addresses.take();
    s.memory[address] = {.bytes = bytes, .kind = Kind::global};
    made->globals[name] = {bytes, address};
  }
  *module = made.get();
  s.modules[made.get()] = std::move(made);
  return CUDA_SUCCESS;
}

CUresult load_file(State& s, CUmodule* module, const char* path, bool is_library) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const std::string image((std::istreambuf_iterator<char>(file)), {});
  return load(s, module, image.c_str(), is_library);
}

void unload(State& s, std::map<CUmodule, std::unique_ptr<CUmod_st>>::iterator module) {
  for (const auto& [name, global] : module->second->globals)
    fake_cuda::end_memory(s.memory.find(global.address));
  s.modules.erase(module);
}

CUresult unload(State& s, CUmodule module) {
  const auto found = s.modules.find(module);
  if (found == s.modules.end()) return CUDA_ERROR_INVALID_HANDLE;
  unload(s, found);
  return CUDA_SUCCESS;
}

CUresult find_function(State& s, CUmodule module, const char* name, CUfunction& function) {
  const auto found = s.modules.find(module);
  if (found == s.modules.end()) return CUDA_ERROR_INVALID_HANDLE;
  auto& functions = found->second->functions;
  if (!found->second->is_known) functions.try_emplace(name, CUfunc_st{.module = module, .name = name});
  const auto kernel = functions.find(name);
  if (kernel == functions.end()) return CUDA_ERROR_NOT_FOUND;
  function = &kernel->second;
  return CUDA_SUCCESS;
}

CUresult find_global(State& s, CUmodule module, const char* name, CUdeviceptr* address, std::size_t* bytes) {
  const auto found = s.modules.find(module);
  if (found == s.modules.end()) return CUDA_ERROR_INVALID_HANDLE;
  const auto global = found->second->globals.find(name);
  if (global == found->second->globals.end()) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = global->second.address;
  if (bytes != nullptr) *bytes = global->second.bytes;
  return CUDA_SUCCESS;
}

CUresult get_attribute(int* value, CUfunction_attribute attribute, const CUfunc_st& function) {
  *value = 0;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = function.shared_bytes;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = function.registers;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = 90;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = function.max_dynamic_shared_bytes;
      break;
    default:
      break;
  }
  return attribute < CU_FUNC_ATTRIBUTE_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult set_attribute(CUfunction_attribute attribute, int value, CUfunc_st& function) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    if (value < 0 || value > 227 << 10) return CUDA_ERROR_INVALID_VALUE;
    function.max_dynamic_shared_bytes = value;
  }
  return CUDA_SUCCESS;
}

/// Uses the limits that fake_libcuda_devices.cpp reports.
int max_blocks(const CUfunc_st& function, int threads, std::size_t dynamic_bytes) {
  if (threads <= 0 || threads > 1024) return 0;
  const int warps = (threads + 31) / 32;
  int blocks = std::min(32, 64 / warps);
  if (function.registers > 0) blocks = std::min(blocks, 65'536 / (function.registers * warps * 32));
  const std::size_t shared = static_cast<std::size_t>(function.shared_bytes) + dynamic_bytes + 1024;
  return std::min(blocks, static_cast<int>((228 << 10) / shared));
}

CUresult set_max_blocks(int* blocks, CUfunction function, int threads, std::size_t dynamic_bytes) {
  *blocks = max_blocks(*function, threads, dynamic_bytes);
  return CUDA_SUCCESS;
}

CUresult set_potential(int* grid, int* block, CUfunction function, CUoccupancyB2DSize dynamic_of,
                       std::size_t dynamic_bytes, int limit) {
  int best = 0;
  for (int threads = limit > 0 ? std::min(limit, 1024) : 1024; threads >= 32; threads -= 32) {
    const std::size_t bytes = dynamic_of == nullptr ? dynamic_bytes : dynamic_of(threads);
    const int blocks = max_blocks(*function, threads, bytes);
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * 16;
  }
  return best > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

/// The images that are linked. The result is their text, or the last binary.
struct CUlinkState_st {
  std::string text;
  std::string binary;
};

namespace fake_cuda {

void end_modules(CUcontext context) {
  State& s = state();
  for (auto at = s.modules.begin(); at != s.modules.end();) {
    const auto one = at++;
    if (!one->second->is_library && one->second->context == context) unload(s, one);
  }
}

}  // namespace fake_cuda

extern "C" {

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  FAKE_CALL(cuModuleGetLoadingMode, mode)
  ([&](State& /*s*/) {
    *mode = CU_MODULE_EAGER_LOADING;
    return CUDA_SUCCESS;
  });
}
CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  FAKE_CALL(cuModuleLoad, module, fname)([&](State& s) { return load_file(s, module, fname, false); });
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  FAKE_CALL(cuModuleLoadData, module, image)([&](State& s) { return load(s, module, image, false); });
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions,
                            CUjit_option* options, void** optionValues) {
  FAKE_CALL(cuModuleLoadDataEx, module, image, numOptions, options, optionValues)
  ([&](State& s) { return load(s, module, image, false); });
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
  FAKE_CALL(cuModuleLoadFatBinary, module, fatCubin)
  ([&](State& s) { return load(s, module, fatCubin, false); });
}
CUresult cuModuleUnload(CUmodule hmod) {
  FAKE_CALL(cuModuleUnload, hmod)([&](State& s) { return unload(s, hmod); });
}
CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  FAKE_CALL(cuModuleGetFunction, hfunc, hmod, name)
  ([&](State& s) { return find_function(s, hmod, name, *hfunc); });
}
CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule mod) {
  FAKE_CALL(cuModuleGetFunctionCount, count, mod)
  ([&](State& s) {
    if (!s.modules.contains(mod)) return CUDA_ERROR_INVALID_HANDLE;
    *count = static_cast<unsigned>(mod->functions.size());
    return CUDA_SUCCESS;
  });
}
CUresult cuModuleGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  FAKE_CALL(cuModuleGetGlobal_v2, dptr, bytes, hmod, name)
  ([&](State& s) { return find_global(s, hmod, name, dptr, bytes); });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions,
                           void** jitOptionsValues, unsigned int numJitOptions,
                           CUlibraryOption* libraryOptions, void** libraryOptionValues,
                           unsigned int numLibraryOptions) {
  FAKE_CALL(cuLibraryLoadData, library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
            libraryOptionValues, numLibraryOptions)
  ([&](State& s) { return load(s, reinterpret_cast<CUmodule*>(library), code, true); });
}
CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option* jitOptions,
                               void** jitOptionsValues, unsigned int numJitOptions,
                               CUlibraryOption* libraryOptions, void** libraryOptionValues,
                               unsigned int numLibraryOptions) {
  FAKE_CALL(cuLibraryLoadFromFile, library, fileName, jitOptions, jitOptionsValues, numJitOptions,
            libraryOptions, libraryOptionValues, numLibraryOptions)
  ([&](State& s) { return load_file(s, reinterpret_cast<CUmodule*>(library), fileName, true); });
}
CUresult cuLibraryUnload(CUlibrary library) {
  FAKE_CALL(cuLibraryUnload, library)([&](State& s) { return unload(s, module_of(library)); });
}
CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  FAKE_CALL(cuLibraryGetKernel, pKernel, library, name)
  ([&](State& s) {
    CUfunction function = nullptr;
    const CUresult result = find_function(s, module_of(library), name, function);
    if (result == CUDA_SUCCESS) *pKernel = reinterpret_cast<CUkernel>(function);
    return result;
  });
}
CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary lib) {
  FAKE_CALL(cuLibraryGetKernelCount, count, lib)
  ([&](State& s) {
    if (!s.modules.contains(module_of(lib))) return CUDA_ERROR_INVALID_HANDLE;
    *count = static_cast<unsigned>(module_of(lib)->functions.size());
    return CUDA_SUCCESS;
  });
}
CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
  FAKE_CALL(cuLibraryEnumerateKernels, kernels, numKernels, lib)
  ([&](State& s) {
    if (!s.modules.contains(module_of(lib))) return CUDA_ERROR_INVALID_HANDLE;
    unsigned i = 0;
    for (auto& [name, function] : module_of(lib)->functions) {
      if (i < numKernels) kernels[i++] = reinterpret_cast<CUkernel>(&function);
    }
    return CUDA_SUCCESS;
  });
}
CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  FAKE_CALL(cuLibraryGetModule, pMod, library)
  ([&](State& s) {
    if (!s.modules.contains(module_of(library))) return CUDA_ERROR_INVALID_HANDLE;
    *pMod = module_of(library);
    return CUDA_SUCCESS;
  });
}
CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  FAKE_CALL(cuLibraryGetGlobal, dptr, bytes, library, name)
  ([&](State& s) { return find_global(s, module_of(library), name, dptr, bytes); });
}
CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  FAKE_CALL(cuKernelGetFunction, pFunc, kernel)
  ([&](State& /*s*/) {
    *pFunc = function_of(kernel);
    return CUDA_SUCCESS;
  });
}
CUresult cuKernelGetLibrary(CUlibrary* pLib, CUkernel kernel) {
  FAKE_CALL(cuKernelGetLibrary, pLib, kernel)
  ([&](State& /*s*/) {
    *pLib = reinterpret_cast<CUlibrary>(function_of(kernel)->module);
    return CUDA_SUCCESS;
  });
}
CUresult cuKernelGetName(const char** name, CUkernel hfunc) {
  FAKE_CALL(cuKernelGetName, name, hfunc)
  ([&](State& /*s*/) {
    *name = function_of(hfunc)->name.c_str();
    return CUDA_SUCCESS;
  });
}
CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
  FAKE_CALL(cuKernelGetAttribute, pi, attrib, kernel, dev)
  ([&](State& /*s*/) { return get_attribute(pi, attrib, *function_of(kernel)); });
}
CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
  FAKE_CALL(cuKernelSetAttribute, attrib, val, kernel, dev)
  ([&](State& /*s*/) { return set_attribute(attrib, val, *function_of(kernel)); });
}

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  FAKE_CALL(cuFuncGetAttribute, pi, attrib, hfunc)
  ([&](State& /*s*/) { return get_attribute(pi, attrib, *hfunc); });
}
CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  FAKE_CALL(cuFuncSetAttribute, hfunc, attrib, value)
  ([&](State& /*s*/) { return set_attribute(attrib, value, *hfunc); });
}
CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  FAKE_CALL(cuFuncGetModule, hmod, hfunc)
  ([&](State& /*s*/) {
    *hmod = hfunc->module;
    return CUDA_SUCCESS;
  });
}
CUresult cuFuncGetName(const char** name, CUfunction hfunc) {
  FAKE_CALL(cuFuncGetName, name, hfunc)
  ([&](State& /*s*/) {
    *name = hfunc->name.c_str();
    return CUDA_SUCCESS;
  });
}
CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
  FAKE_CALL(cuFuncSetCacheConfig, hfunc, config)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config) {
  FAKE_CALL(cuFuncSetSharedMemConfig, hfunc, config)([&](State& /*s*/) { return CUDA_SUCCESS; });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
  FAKE_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, numBlocks, func, blockSize, dynamicSMemSize)
  ([&](State& /*s*/) { return set_max_blocks(numBlocks, func, blockSize, dynamicSMemSize); });
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func, int blockSize,
                                                              size_t dynamicSMemSize, unsigned int flags) {
  FAKE_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, numBlocks, func, blockSize, dynamicSMemSize,
            flags)
  ([&](State& /*s*/) { return set_max_blocks(numBlocks, func, blockSize, dynamicSMemSize); });
}
CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit) {
  FAKE_CALL(cuOccupancyMaxPotentialBlockSize, minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
            dynamicSMemSize, blockSizeLimit)
  ([&](State& /*s*/) {
    return set_potential(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                         blockSizeLimit);
  });
}
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* minGridSize, int* blockSize, CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags) {
  FAKE_CALL(cuOccupancyMaxPotentialBlockSizeWithFlags, minGridSize, blockSize, func,
            blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit, flags)
  ([&](State& /*s*/) {
    return set_potential(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize,
                         blockSizeLimit);
  });
}

CUresult cuLinkCreate(unsigned int numOptions, CUjit_option* options, void** optionValues,
                      CUlinkState* stateOut) {
  FAKE_CALL(cuLinkCreate_v2, numOptions, options, optionValues, stateOut)
  ([&](State& /*s*/) {
    *stateOut = new CUlinkState_st;
    return CUDA_SUCCESS;
  });
}
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size, const char* name,
                       unsigned int numOptions, CUjit_option* options, void** optionValues) {
  FAKE_CALL(cuLinkAddData_v2, state, type, data, size, name, numOptions, options, optionValues)
  ([&](State& /*s*/) {
    const std::string_view bytes(static_cast<const char*>(data), size);
    if (type == CU_JIT_INPUT_PTX) {
      state->text += bytes.substr(0, bytes.find('\0'));
    } else if (type == CU_JIT_INPUT_CUBIN) {
      state->binary = bytes;
    }
    return CUDA_SUCCESS;
  });
}
CUresult cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
  FAKE_CALL(cuLinkComplete, state, cubinOut, sizeOut)
  ([&](State& /*s*/) {
    std::string& linked = state->text.empty() ? state->binary : state->text;
    *cubinOut = linked.data();
    *sizeOut = linked.size() + 1;
    return CUDA_SUCCESS;
  });
}
CUresult cuLinkDestroy(CUlinkState state) {
  FAKE_CALL(cuLinkDestroy, state)
  ([&](State& /*s*/) {
    delete state;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
