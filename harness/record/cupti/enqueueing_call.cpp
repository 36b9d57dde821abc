// Knows the streams of the calls that enqueue work.
#include <cupti.h>

#include "record/cupti/call_parameters.hpp"
#include "record/cupti/driver_call.hpp"

namespace peakmark {
namespace {

constexpr CUpti_CallbackId kEnqueueingCalls[] = {
    PEAKMARK_CALL(cuLaunchKernel),
    PEAKMARK_CALL(cuLaunchKernel_ptsz),
    PEAKMARK_CALL(cuLaunchKernelEx),
    PEAKMARK_CALL(cuLaunchKernelEx_ptsz),
    PEAKMARK_CALL(cuLaunchCooperativeKernel),
    PEAKMARK_CALL(cuLaunchCooperativeKernel_ptsz),
    PEAKMARK_CALL(cuLaunchHostFunc),
    PEAKMARK_CALL(cuLaunchHostFunc_ptsz),
    PEAKMARK_CALL(cuGraphLaunch),
    PEAKMARK_CALL(cuGraphLaunch_ptsz),
    PEAKMARK_CALL(cuMemcpyAsync),
    PEAKMARK_CALL(cuMemcpyAsync_ptsz),
    PEAKMARK_CALL(cuMemcpyHtoDAsync_v2),
    PEAKMARK_CALL(cuMemcpyHtoDAsync_v2_ptsz),
    PEAKMARK_CALL(cuMemcpyDtoHAsync_v2),
    PEAKMARK_CALL(cuMemcpyDtoHAsync_v2_ptsz),
    PEAKMARK_CALL(cuMemcpyDtoDAsync_v2),
    PEAKMARK_CALL(cuMemcpyDtoDAsync_v2_ptsz),
};

}  // namespace

std::span<const CUpti_CallbackId> enqueueing_calls() {
  return kEnqueueingCalls;
}

std::optional<CUstream> stream_of(const DriverCall& call) {
  switch (call.id) {
    case PEAKMARK_CALL(cuLaunchKernel):
      return parameters<cuLaunchKernel_params>(call).hStream;
    case PEAKMARK_CALL(cuLaunchKernel_ptsz):
      return per_thread(parameters<cuLaunchKernel_params>(call).hStream);
    case PEAKMARK_CALL(cuLaunchKernelEx):
      return parameters<cuLaunchKernelEx_params>(call).config->hStream;
    case PEAKMARK_CALL(cuLaunchKernelEx_ptsz):
      return per_thread(parameters<cuLaunchKernelEx_params>(call).config->hStream);
    case PEAKMARK_CALL(cuLaunchCooperativeKernel):
      return parameters<cuLaunchCooperativeKernel_params>(call).hStream;
    case PEAKMARK_CALL(cuLaunchCooperativeKernel_ptsz):
      return per_thread(parameters<cuLaunchCooperativeKernel_params>(call).hStream);
    case PEAKMARK_CALL(cuLaunchHostFunc):
      return parameters<cuLaunchHostFunc_params>(call).hStream;
    case PEAKMARK_CALL(cuLaunchHostFunc_ptsz):
      return per_thread(parameters<cuLaunchHostFunc_params>(call).hStream);
    case PEAKMARK_CALL(cuGraphLaunch):
      return parameters<cuGraphLaunch_params>(call).hStream;
    case PEAKMARK_CALL(cuGraphLaunch_ptsz):
      return per_thread(parameters<cuGraphLaunch_params>(call).hStream);
    case PEAKMARK_CALL(cuMemcpyAsync):
      return parameters<cuMemcpyAsync_params>(call).hStream;
    case PEAKMARK_CALL(cuMemcpyAsync_ptsz):
      return per_thread(parameters<cuMemcpyAsync_params>(call).hStream);
    case PEAKMARK_CALL(cuMemcpyHtoDAsync_v2):
      return parameters<cuMemcpyHtoDAsync_v2_params>(call).hStream;
    case PEAKMARK_CALL(cuMemcpyHtoDAsync_v2_ptsz):
      return per_thread(parameters<cuMemcpyHtoDAsync_v2_params>(call).hStream);
    case PEAKMARK_CALL(cuMemcpyDtoHAsync_v2):
      return parameters<cuMemcpyDtoHAsync_v2_params>(call).hStream;
    case PEAKMARK_CALL(cuMemcpyDtoHAsync_v2_ptsz):
      return per_thread(parameters<cuMemcpyDtoHAsync_v2_params>(call).hStream);
    case PEAKMARK_CALL(cuMemcpyDtoDAsync_v2):
      return parameters<cuMemcpyDtoDAsync_v2_params>(call).hStream;
    case PEAKMARK_CALL(cuMemcpyDtoDAsync_v2_ptsz):
      return per_thread(parameters<cuMemcpyDtoDAsync_v2_params>(call).hStream);
    default:
      return std::nullopt;
  }
}

}  // namespace peakmark
