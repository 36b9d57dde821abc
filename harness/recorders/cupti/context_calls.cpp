// The part of CallRecorder about contexts, and the memory that ends with them.
#include <cupti.h>

#include <algorithm>

#include "recorders/cupti/call_recorder.hpp"

namespace peakmark {

std::vector<CudaAllocation> CallRecorder::end_memory(
    const std::function<bool(const CudaAllocation&)>& wanted) {
  std::vector<CudaAllocation> held =
      live_.take_where([&](const CudaAllocation& one) { return one.in_context && wanted(one); });
  for (const CudaAllocation& one : held) sink_.release(one.address);
  const auto is_the_programs = [](const CudaAllocation& one) {
    return one.kind != MemoryKind::module_globals;
  };
  if (std::ranges::any_of(held, is_the_programs)) {
    note_once(
        told_context_,
        "a context was destroyed while memory was live in it: from then on that memory counts as released");
  }
  return held;
}

std::vector<CudaAllocation> CallRecorder::end_memory_of_context(std::uint32_t context) {
  return end_memory([=](const CudaAllocation& one) { return one.context == context; });
}

std::vector<CudaAllocation> CallRecorder::end_memory_of_primary(std::uint32_t device) {
  const auto others = contexts_.made_by_program();
  return end_memory(
      [&](const CudaAllocation& one) { return one.device == device && !others.contains(one.context); });
}

bool CallRecorder::withdraw_context(const DriverCall& call, Withdrawn& withdrawn) {
  switch (call.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDetach: {
      const std::uint32_t context =
          driver_.id_of(static_cast<const cuCtxDetach_params*>(call.parameters)->ctx);
      if (contexts_.detached(context)) {
        withdrawn.context = context;
        withdrawn.allocations = end_memory_of_context(context);
      } else {
        withdrawn.detached = context;
      }
      return true;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2:
      withdrawn.context = driver_.id_of(static_cast<const cuCtxDestroy_v2_params*>(call.parameters)->ctx);
      withdrawn.allocations = end_memory_of_context(*withdrawn.context);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2:
      withdrawn.allocations = end_memory_of_primary(static_cast<std::uint32_t>(
          static_cast<const cuDevicePrimaryCtxReset_v2_params*>(call.parameters)->dev));
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease:
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2:
      // Whether it is the last reference the driver says afterwards.
      withdrawn.released = static_cast<std::uint32_t>(
          static_cast<const cuDevicePrimaryCtxRelease_v2_params*>(call.parameters)->dev);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy:
      withdrawn.green = reinterpret_cast<std::uint64_t>(
          static_cast<const cuGreenCtxDestroy_params*>(call.parameters)->hCtx);
      withdrawn.released = contexts_.green_destroyed(withdrawn.green);
      return withdrawn.released.has_value();
    default:
      return false;
  }
}

void CallRecorder::end_context(const DriverCall& call) {
  switch (call.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuCtxCreate:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v3:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4:
      // The first parameter of each.
      return contexts_.created(
          driver_.id_of(*static_cast<const cuCtxCreate_v2_params*>(call.parameters)->pctx));
    case CUPTI_DRIVER_TRACE_CBID_cuCtxAttach:
      return contexts_.attached(
          driver_.id_of(*static_cast<const cuCtxAttach_params*>(call.parameters)->pctx));
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate: {
      const auto& parameters = *static_cast<const cuGreenCtxCreate_params*>(call.parameters);
      return contexts_.green_created(reinterpret_cast<std::uint64_t>(*parameters.phCtx),
                                     static_cast<std::uint32_t>(parameters.dev));
    }
    case CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain: {
      const auto& parameters = *static_cast<const cuDevicePrimaryCtxRetain_params*>(call.parameters);
      const auto before =
          contexts_.retained(static_cast<std::uint32_t>(parameters.dev), driver_.id_of(*parameters.pctx));
      if (before) end_memory_of_context(*before);
      return;
    }
    default:
      return;
  }
}

}  // namespace peakmark
