// Contexts of the fake driver.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "record/recorders/cupti/tests/fake_libcuda.hpp"

using fake_cuda::check_alive;
using fake_cuda::context_or_null;
using fake_cuda::context_stack;
using fake_cuda::current_context;
using fake_cuda::is_device;
using fake_cuda::State;
using fake_cuda::state;

namespace {

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
  end_modules(context);
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
  return state().synchronisations;
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
  return fake_cuda::make_call(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize", 0, [](State& s) {
    CUcontext context = nullptr;
    ++s.synchronisations;
    return current_context(context);
  });
}

#undef cuCtxCreate_v3
CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams, unsigned int flags,
                        CUdevice dev) {
  FAKE_CALL(cuCtxCreate_v3, pctx, paramsArray, numParams, flags, dev)
  ([&](State& s) { return create_context(s, pctx, dev); });
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
  FAKE_CALL(cuDevicePrimaryCtxSetFlags_v2, dev, flags)
  ([&](State& /*s*/) { return is_device(dev) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE; });
}
CUresult cuCtxGetFlags(unsigned int* flags) {
  FAKE_CALL(cuCtxGetFlags, flags)
  ([&](State& /*s*/) {
    CUcontext context = nullptr;
    *flags = 0;
    return current_context(context);
  });
}
CUresult cuCtxSetFlags(unsigned int flags) {
  FAKE_CALL(cuCtxSetFlags, flags)
  ([&](State& /*s*/) {
    CUcontext context = nullptr;
    return current_context(context);
  });
}
CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  FAKE_CALL(cuCtxGetId, ctx, ctxId)
  ([&](State& /*s*/) {
    CUcontext context = ctx;
    const CUresult result = ctx == nullptr ? current_context(context) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS) *ctxId = context->uid;
    return result;
  });
}
CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
  FAKE_CALL(cuCtxGetApiVersion, ctx, version)
  ([&](State& /*s*/) {
    *version = 3020;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  FAKE_CALL(cuCtxGetStreamPriorityRange, leastPriority, greatestPriority)
  ([&](State& /*s*/) {
    if (leastPriority != nullptr) *leastPriority = 0;
    if (greatestPriority != nullptr) *greatestPriority = -5;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  FAKE_CALL(cuCtxGetLimit, pvalue, limit)
  ([&](State& s) {
    CUcontext context = nullptr;
    if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
    const auto found = s.limits.find(limit);
    if (found == s.limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *pvalue = found->second;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  FAKE_CALL(cuCtxSetLimit, limit, value)
  ([&](State& s) {
    CUcontext context = nullptr;
    if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
    if (!s.limits.contains(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    s.limits[limit] = value;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  FAKE_CALL(cuCtxGetCacheConfig, pconfig)
  ([&](State& /*s*/) {
    *pconfig = CU_FUNC_CACHE_PREFER_NONE;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  FAKE_CALL(cuCtxSetCacheConfig, config)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
  FAKE_CALL(cuCtxGetSharedMemConfig, pConfig)
  ([&](State& /*s*/) {
    *pConfig = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  FAKE_CALL(cuCtxSetSharedMemConfig, config)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int flags) {
  FAKE_CALL(cuCtxEnablePeerAccess, peerContext, flags)([&](State& /*s*/) { return CUDA_SUCCESS; });
}
CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  FAKE_CALL(cuCtxDisablePeerAccess, peerContext)([&](State& /*s*/) { return CUDA_SUCCESS; });
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

}  // extern "C"
