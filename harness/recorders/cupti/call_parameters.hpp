#pragma once

#include <cuda.h>

#include <cstdint>
#include <type_traits>

#include "recorders/cupti/driver_call.hpp"

#define PEAKMARK_CALL(name) CUPTI_DRIVER_TRACE_CBID_##name

namespace peakmark {

template <typename Parameters>
const Parameters& parameters(const DriverCall& call) {
  return *static_cast<const Parameters*>(call.parameters);
}

/// `_ptsz` calls mean the thread's own stream by 0.
inline CUstream per_thread(CUstream stream) {
  return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

/// What a call that succeeded wrote to `place`; otherwise 0.
template <typename Pointer>
std::uint64_t result_of(const DriverCall& call, const Pointer* place) {
  if (call.result != CUDA_SUCCESS || place == nullptr) return 0;
  if constexpr (std::is_pointer_v<Pointer>) {
    return reinterpret_cast<std::uint64_t>(*place);
  } else {
    return *place;
  }
}

}  // namespace peakmark
