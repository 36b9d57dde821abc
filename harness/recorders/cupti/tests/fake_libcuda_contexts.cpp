// Contexts, streams and work of the fake driver.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "recorders/cupti/tests/fake_libcuda.hpp"

using fake_cuda::check_alive;
using fake_cuda::context_or_null;
using fake_cuda::context_stack;
using fake_cuda::current_context;
using fake_cuda::State;
using fake_cuda::state;

namespace {

std::atomic<std::uint64_t> synchronisations{0};

bool is_device(CUdevice device) {
  return device >= 0 && device < fake_cuda::kDevices;
}

CUcontext new_context(State& s, CUdevice device) {
  CUcontext made = nullptr;
  if (s.reuse_handles && !s.free_contexts.empty()) {
    made = s.free_contexts.back();
    s.free_contexts.pop_back();
  } else {
    made = &s.contexts.emplace_back();
  }
  *made = {.device = device, .uid = s.next_uid++, .alive = true, .references = 1, .memory_owner = made};
  return made;
}

CUcontext retain_primary(State& s, CUdevice device) {
  CUctx_st& primary = s.primary[device];
  if (!primary.alive) {
    primary.alive = true;
    primary.uid = s.next_uid++;
  }
  ++primary.references;
  return &primary;
}

void pop(CUcontext context) {
  auto& stack = context_stack();
  if (!stack.empty() && stack.back() == context) stack.pop_back();
}

CUresult create_context(State& s, CUcontext* context, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = new_context(s, device);
  context_stack().push_back(*context);
  return CUDA_SUCCESS;
}

void check_stream(CUstream stream, const char* call) {
  const bool is_special = stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  if (!is_special && !stream->alive) fake_cuda::abort_with(call, "a stream that was destroyed");
}

bool is_created(CUstream stream) {
  return stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

/// Work begins and ends at once, except during a capture.
CUresult enqueue(CUstream stream, const char* call, bool is_kernel) {
  check_stream(stream, call);
  CUcontext context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (is_created(stream) && stream->capture != nullptr) return CUDA_SUCCESS;
  if (is_kernel) fake_cuda::show_kernel(context, 0);
  return CUDA_SUCCESS;
}

}  // namespace

namespace fake_cuda {

void end_context(CUcontext context) {
  auto& memory = state().memory;
  for (auto at = memory.begin(); at != memory.end();) {
    const auto one = at++;
    if (one->second.owner == context) end_memory(one);
  }
  for (CUstream_st& stream : state().streams) {
    if (stream.context == context) stream.alive = false;
  }
  context->alive = false;
  context->references = 0;
  if (!context->primary) state().free_contexts.push_back(context);
}

void release_primary(CUdevice device) {
  CUctx_st& primary = state().primary[device];
  if (--primary.references == 0) end_context(&primary);
}

}  // namespace fake_cuda

extern "C" {

uint64_t fake_cuda_synchronisations(void) {
  return synchronisations;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  FAKE_CALL(cuDevicePrimaryCtxRetain, pctx, dev)
  ([&](State& s) {
    if (!is_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
    *pctx = retain_primary(s, dev);
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  FAKE_CALL(cuDevicePrimaryCtxRelease_v2, dev)
  ([&](State& s) {
    if (!is_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
    if (s.primary[dev].references == 0) return CUDA_ERROR_INVALID_CONTEXT;
    fake_cuda::release_primary(dev);
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
  FAKE_CALL(cuDevicePrimaryCtxReset_v2, dev)
  ([&](State& s) {
    if (!is_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
    fake_cuda::end_context(&s.primary[dev]);
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  FAKE_CALL(cuDevicePrimaryCtxGetState, dev, flags, active)
  ([&](State& s) {
    if (!is_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = s.primary[dev].alive ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxCreate(CUcontext* pctx, CUctxCreateParams* params, unsigned int flags, CUdevice dev) {
  FAKE_CALL(cuCtxCreate_v4, pctx, params, flags, dev)([&](State& s) { return create_context(s, pctx, dev); });
}
#undef cuCtxCreate_v2
CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  FAKE_CALL(cuCtxCreate_v2, pctx, flags, dev)([&](State& s) { return create_context(s, pctx, dev); });
}
CUresult cuCtxDestroy(CUcontext ctx) {
  FAKE_CALL(cuCtxDestroy_v2, ctx)
  ([&](State& /*s*/) {
    check_alive(ctx, "cuCtxDestroy");
    if (ctx->primary) return CUDA_ERROR_INVALID_CONTEXT;
    pop(ctx);
    fake_cuda::end_context(ctx);
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxAttach(CUcontext* pctx, unsigned int flags) {
  FAKE_CALL(cuCtxAttach, pctx, flags)
  ([&](State& /*s*/) {
    const CUresult result = current_context(*pctx);
    if (result == CUDA_SUCCESS) ++(*pctx)->references;
    return result;
  });
}
CUresult cuCtxDetach(CUcontext ctx) {
  FAKE_CALL(cuCtxDetach, ctx)
  ([&](State& /*s*/) {
    check_alive(ctx, "cuCtxDetach");
    if (ctx->primary || ctx != context_or_null()) return CUDA_ERROR_INVALID_CONTEXT;
    if (--ctx->references > 0) return CUDA_SUCCESS;
    pop(ctx);
    fake_cuda::end_context(ctx);
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxSetCurrent(CUcontext ctx) {
  FAKE_CALL(cuCtxSetCurrent, ctx)
  ([&](State& /*s*/) {
    if (ctx != nullptr) check_alive(ctx, "cuCtxSetCurrent");
    auto& stack = context_stack();
    if (!stack.empty()) stack.pop_back();
    if (ctx != nullptr) stack.push_back(ctx);
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetCurrent(CUcontext* pctx) {
  FAKE_CALL(cuCtxGetCurrent, pctx)
  ([&](State& /*s*/) {
    *pctx = context_or_null();
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxPushCurrent(CUcontext ctx) {
  FAKE_CALL(cuCtxPushCurrent_v2, ctx)
  ([&](State& /*s*/) {
    check_alive(ctx, "cuCtxPushCurrent");
    context_stack().push_back(ctx);
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxPopCurrent(CUcontext* pctx) {
  FAKE_CALL(cuCtxPopCurrent_v2, pctx)
  ([&](State& /*s*/) {
    if (context_stack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (pctx != nullptr) *pctx = context_or_null();
    context_stack().pop_back();
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetDevice(CUdevice* device) {
  FAKE_CALL(cuCtxGetDevice, device)
  ([&](State& /*s*/) {
    CUcontext context = nullptr;
    const CUresult result = current_context(context);
    if (result == CUDA_SUCCESS) *device = context->device;
    return result;
  });
}
CUresult cuCtxSynchronize(void) {
  // It has no parameters.
  return fake_cuda::make_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize", 0,
                              [](State& /*s*/) {
                                CUcontext context = nullptr;
                                ++synchronisations;
                                return current_context(context);
                              });
}

CUresult cuGreenCtxCreate(CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags) {
  FAKE_CALL(cuGreenCtxCreate, phCtx, desc, dev, flags)
  ([&](State& s) {
    if (!is_device(dev)) return CUDA_ERROR_INVALID_DEVICE;
    CUgreenCtx_st* const green = &s.greens.emplace_back();  // kept, so that a later use is detected
    const CUcontext primary = retain_primary(s, dev);
    green->context = {
        .device = dev, .uid = s.next_uid++, .alive = true, .references = 1, .memory_owner = primary};
    *phCtx = green;
    return CUDA_SUCCESS;
  });
}
CUresult cuGreenCtxDestroy(CUgreenCtx hCtx) {
  FAKE_CALL(cuGreenCtxDestroy, hCtx)
  ([&](State& /*s*/) {
    check_alive(&hCtx->context, "cuGreenCtxDestroy");
    hCtx->context.alive = false;
    fake_cuda::release_primary(hCtx->context.device);
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxFromGreenCtx(CUcontext* pContext, CUgreenCtx hCtx) {
  FAKE_CALL(cuCtxFromGreenCtx, pContext, hCtx)
  ([&](State& /*s*/) {
    check_alive(&hCtx->context, "cuCtxFromGreenCtx");
    *pContext = &hCtx->context;
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCreate(CUstream* phStream, unsigned int flags) {
  FAKE_CALL(cuStreamCreate, phStream, flags)
  ([&](State& s) {
    CUcontext context = nullptr;
    const CUresult result = current_context(context);
    if (result != CUDA_SUCCESS) return result;
    *phStream = &s.streams.emplace_back();
    (*phStream)->context = context;
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamDestroy(CUstream stream) {
  FAKE_CALL(cuStreamDestroy_v2, stream)
  ([&](State& /*s*/) {
    check_stream(stream, "cuStreamDestroy");
    stream->alive = false;
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamSynchronize(CUstream stream) {
  FAKE_CALL(cuStreamSynchronize, stream)
  ([&](State& /*s*/) {
    check_stream(stream, "cuStreamSynchronize");
    ++synchronisations;
    return is_created(stream) && stream->capture != nullptr ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                                            : CUDA_SUCCESS;
  });
}
CUresult cuStreamQuery(CUstream stream) {
  FAKE_CALL(cuStreamQuery, stream)
  ([&](State& /*s*/) {
    check_stream(stream, "cuStreamQuery");
    ++synchronisations;
    return is_created(stream) && stream->capture != nullptr ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                                            : CUDA_SUCCESS;
  });
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  FAKE_CALL(cuThreadExchangeStreamCaptureMode, mode)
  ([&](State& /*s*/) {
    thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::swap(current, *mode);
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  FAKE_CALL(cuStreamIsCapturing, stream, status)
  ([&](State& /*s*/) {
    check_stream(stream, "cuStreamIsCapturing");
    *status = is_created(stream) && stream->capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                               : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridX, unsigned int gridY, unsigned int gridZ,
                        unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int shared,
                        CUstream stream, void** params, void** extra) {
  FAKE_CALL(cuLaunchKernel, f, gridX, gridY, gridZ, blockX, blockY, blockZ, shared, stream, params, extra)
  ([&](State& /*s*/) { return enqueue(stream, "cuLaunchKernel", true); });
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  FAKE_CALL(cuMemcpyHtoDAsync_v2, to, from, bytes, stream)
  ([&](State& /*s*/) { return enqueue(stream, "cuMemcpyHtoDAsync", false); });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  FAKE_CALL(cuMemsetD8Async, to, value, count, stream)
  ([&](State& /*s*/) { return enqueue(stream, "cuMemsetD8Async", false); });
}

}  // extern "C"
