#pragma once

// Tables of the driver's symbols and errors, which fake_libcuda_symbols.py writes. Its file declares the
// functions itself, without their parameters, and so must not include cuda.h.
#include <cstddef>
#include <iterator>

namespace fake_cuda {

struct Symbol {
  const char* name;
  int version;      ///< of CUDA, such as 3020 for 3.2: the first with this symbol
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

/// Returns CUDA_ERROR_NOT_SUPPORTED. Prints the name once a process if FAKE_CUDA_VERBOSE is set.
extern "C" int fake_cuda_not_supported(const char* name);
