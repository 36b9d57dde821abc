// Decodes the streams of the calls that enqueue work.
#include "record/recorders/cupti/driver_call.hpp"

namespace peakmark {
namespace {

// Calls with a stream argument; each has a variant `_ptsz`.
#define PEAKMARK_STREAM_CALLS(DO) \
  DO(cuLaunchKernel)              \
  DO(cuLaunchCooperativeKernel)   \
  DO(cuLaunchHostFunc)            \
  DO(cuGraphLaunch)               \
  DO(cuMemcpyAsync)               \
  DO(cuMemcpyHtoDAsync_v2)        \
  DO(cuMemcpyDtoHAsync_v2)        \
  DO(cuMemcpyDtoDAsync_v2)        \
  DO(cuMemcpyHtoAAsync_v2)        \
  DO(cuMemcpyAtoHAsync_v2)        \
  DO(cuMemcpyPeerAsync)           \
  DO(cuMemcpy2DAsync_v2)          \
  DO(cuMemcpy3DAsync_v2)          \
  DO(cuMemcpy3DPeerAsync)         \
  DO(cuMemcpyBatchAsync)          \
  DO(cuMemcpyBatchAsync_v2)       \
  DO(cuMemcpy3DBatchAsync)        \
  DO(cuMemcpy3DBatchAsync_v2)     \
  DO(cuMemsetD8Async)             \
  DO(cuMemsetD16Async)            \
  DO(cuMemsetD32Async)            \
  DO(cuMemsetD2D8Async)           \
  DO(cuMemsetD2D16Async)          \
  DO(cuMemsetD2D32Async)          \
  DO(cuMemPrefetchAsync)          \
  DO(cuMemPrefetchAsync_v2)

// Calls on the default stream that may return before the work is done; each has a variant `_ptds`.
#define PEAKMARK_DEFAULT_STREAM_CALLS(DO) \
  DO(cuMemcpyDtoD_v2)                     \
  DO(cuMemcpyPeer)                        \
  DO(cuMemcpy2D_v2)                       \
  DO(cuMemcpy3D_v2)                       \
  DO(cuMemcpy3DPeer)                      \
  DO(cuMemsetD8_v2)                       \
  DO(cuMemsetD16_v2)                      \
  DO(cuMemsetD32_v2)                      \
  DO(cuMemsetD2D8_v2)                     \
  DO(cuMemsetD2D16_v2)                    \
  DO(cuMemsetD2D32_v2)

// The macro pastes the names without expanding them, because cuda.h defines some of them as macros for newer
// calls.
constexpr CUpti_CallbackId kEnqueueingCalls[] = {
#define PEAKMARK_ID(name) CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##name##_ptsz,
    PEAKMARK_STREAM_CALLS(PEAKMARK_ID)
#undef PEAKMARK_ID
#define PEAKMARK_ID(name) CUPTI_DRIVER_TRACE_CBID_##name, CUPTI_DRIVER_TRACE_CBID_##name##_ptds,
        PEAKMARK_DEFAULT_STREAM_CALLS(PEAKMARK_ID)
#undef PEAKMARK_ID
            PEAKMARK_CALL(cuLaunchKernelEx),
    PEAKMARK_CALL(cuLaunchKernelEx_ptsz)};

}  // namespace

std::span<const CUpti_CallbackId> enqueueing_calls() {
  return kEnqueueingCalls;
}

std::optional<CUstream> decode_stream(const DriverCall& call) {
  switch (call.id) {
#define PEAKMARK_STREAM(name)                       \
  case CUPTI_DRIVER_TRACE_CBID_##name:              \
    return parameters<name##_params>(call).hStream; \
  case CUPTI_DRIVER_TRACE_CBID_##name##_ptsz:       \
    return per_thread(parameters<name##_params>(call).hStream);
    PEAKMARK_STREAM_CALLS(PEAKMARK_STREAM)
#undef PEAKMARK_STREAM
#define PEAKMARK_STREAM(name)                 \
  case CUPTI_DRIVER_TRACE_CBID_##name:        \
    return nullptr;                           \
  case CUPTI_DRIVER_TRACE_CBID_##name##_ptds: \
    return CU_STREAM_PER_THREAD;
    PEAKMARK_DEFAULT_STREAM_CALLS(PEAKMARK_STREAM)
#undef PEAKMARK_STREAM
    case PEAKMARK_CALL(cuLaunchKernelEx):
      return parameters<cuLaunchKernelEx_params>(call).config->hStream;
    case PEAKMARK_CALL(cuLaunchKernelEx_ptsz):
      return per_thread(parameters<cuLaunchKernelEx_params>(call).config->hStream);
    default:
      return std::nullopt;
  }
}

}  // namespace peakmark
