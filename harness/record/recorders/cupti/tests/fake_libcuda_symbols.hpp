#pragma once

// Tables of the driver's symbols and errors, written by fake_libcuda_symbols.py. The generated file declares
// the functions without their parameters, and so must not include cuda.h.
#include <cstddef>
#include <iterator>

namespace fake_cuda {

struct Symbol {
  const char* name;
  int version;      ///< CUDA version, such as 3020 for 3.2, that introduced this symbol
  bool per_thread;  ///< on the thread's default stream
  void* function;
};
/// Sorted by name, then by version.
extern const Symbol kSymbols[];
extern const std::size_t kSymbolCount;

/// A CUresult and its name.
struct Result {
  int number;
  const char* name;
};
extern const Result kResults[];
extern const std::size_t kResultCount;

}  // namespace fake_cuda

/// Returns CUDA_ERROR_NOT_SUPPORTED. If FAKE_CUDA_VERBOSE is set, prints the name once per process.
extern "C" int fake_cuda_not_supported(const char* name);
