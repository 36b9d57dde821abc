// Streams and events of the fake driver. Work is done at once, except during a capture.
#include <algorithm>
#include <chrono>
#include <utility>

#include "record/recorders/cupti/tests/fake_libcuda.hpp"

using fake_cuda::check_stream;
using fake_cuda::current_context;
using fake_cuda::is_created;
using fake_cuda::State;

namespace {

CUresult create_stream(State& s, CUstream* stream, unsigned flags, int priority) {
  CUcontext context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  *stream = &s.streams.emplace_back();
  (*stream)->context = context;
  (*stream)->flags = flags;
  (*stream)->priority = std::clamp(priority, -5, 0);
  (*stream)->id = s.next_stream_id++;
  return CUDA_SUCCESS;
}

/// Returns the context of a stream; for a default stream, the current context.
CUresult stream_context(CUstream stream, const char* call, CUcontext& context) {
  check_stream(stream, call);
  if (!is_created(stream)) return current_context(context);
  context = stream->context;
  return CUDA_SUCCESS;
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

void check_event(CUevent event, const char* call) {
  if (event == nullptr || !event->alive) fake_cuda::abort_with(call, "an event that was destroyed");
}

CUresult record(CUevent event, CUstream stream) {
  check_event(event, "cuEventRecord");
  check_stream(stream, "cuEventRecord");
  if (is_created(stream) && stream->capture != nullptr) return CUDA_SUCCESS;
  event->recorded_ns = now_ns();
  return CUDA_SUCCESS;
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  check_event(start, "cuEventElapsedTime");
  check_event(end, "cuEventElapsedTime");
  if (start->recorded_ns == 0 || end->recorded_ns == 0) return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = static_cast<float>(static_cast<std::int64_t>(end->recorded_ns - start->recorded_ns)) / 1e6F;
  return CUDA_SUCCESS;
}

/// Calls a host function after the driver's own call has ended, because the function may call the driver.
template <typename Function>
CUresult call_host(CUresult result, CUstream stream, Function function) {
  if (result == CUDA_SUCCESS && (!is_created(stream) || stream->capture == nullptr)) function();
  return result;
}

}  // namespace

namespace fake_cuda {

void check_stream(CUstream stream, const char* call) {
  const bool is_special = stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  if (!is_special && !stream->alive) abort_with(call, "a stream that was destroyed");
}

bool is_created(CUstream stream) {
  return stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD;
}

CUresult enqueue(CUstream stream, const char* call, bool is_kernel) {
  check_stream(stream, call);
  CUcontext context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (is_created(stream) && stream->capture != nullptr) return CUDA_SUCCESS;
  if (is_kernel) show_kernel(context, 0);
  return CUDA_SUCCESS;
}

}  // namespace fake_cuda

extern "C" {

CUresult cuStreamCreate(CUstream* phStream, unsigned int flags) {
  FAKE_CALL(cuStreamCreate, phStream, flags)([&](State& s) { return create_stream(s, phStream, flags, 0); });
}
CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  FAKE_CALL(cuStreamCreateWithPriority, phStream, flags, priority)
  ([&](State& s) { return create_stream(s, phStream, flags, priority); });
}
CUresult cuStreamDestroy(CUstream stream) {
  FAKE_CALL(cuStreamDestroy_v2, stream)
  ([&](State& /*s*/) {
    check_stream(stream, "cuStreamDestroy");
    stream->alive = false;
    return CUDA_SUCCESS;
  });
}
FAKE_VARIANTS(cuStreamSynchronize, _ptsz, (CUstream stream), (stream), [&](State& s) {
  check_stream(stream, "cuStreamSynchronize");
  ++s.synchronisations;
  return is_created(stream) && stream->capture != nullptr ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                                          : CUDA_SUCCESS;
})
FAKE_VARIANTS(cuStreamQuery, _ptsz, (CUstream stream), (stream), [&](State& s) {
  check_stream(stream, "cuStreamQuery");
  ++s.synchronisations;
  return is_created(stream) && stream->capture != nullptr ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                                          : CUDA_SUCCESS;
})
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  FAKE_CALL(cuThreadExchangeStreamCaptureMode, mode)
  ([&](State& /*s*/) {
    thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::swap(current, *mode);
    return CUDA_SUCCESS;
  });
}
FAKE_VARIANTS(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus* status), (stream, status),
              [&](State& /*s*/) {
                check_stream(stream, "cuStreamIsCapturing");
                *status = is_created(stream) && stream->capture != nullptr ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                                                           : CU_STREAM_CAPTURE_STATUS_NONE;
                return CUDA_SUCCESS;
              })

FAKE_VARIANTS(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned int* flags), (stream, flags),
              [&](State& /*s*/) {
                check_stream(stream, "cuStreamGetFlags");
                *flags = is_created(stream) ? stream->flags : 0;
                return CUDA_SUCCESS;
              })
FAKE_VARIANTS(cuStreamGetPriority, _ptsz, (CUstream stream, int* priority), (stream, priority),
              [&](State& /*s*/) {
                check_stream(stream, "cuStreamGetPriority");
                *priority = is_created(stream) ? stream->priority : 0;
                return CUDA_SUCCESS;
              })
FAKE_VARIANTS(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long* id), (stream, id),
              [&](State& /*s*/) {
                check_stream(stream, "cuStreamGetId");
                *id = is_created(stream) ? stream->id : 0;
                return CUDA_SUCCESS;
              })
FAKE_VARIANTS(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext* pctx), (stream, pctx),
              [&](State& /*s*/) { return stream_context(stream, "cuStreamGetCtx", *pctx); })
FAKE_VARIANTS(cuStreamGetCtx_v2, _ptsz, (CUstream stream, CUcontext* pctx, CUgreenCtx* green),
              (stream, pctx, green), [&](State& /*s*/) {
                *green = nullptr;
                return stream_context(stream, "cuStreamGetCtx", *pctx);
              })
FAKE_VARIANTS(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice* device), (stream, device),
              [&](State& /*s*/) {
                CUcontext context = nullptr;
                const CUresult result = stream_context(stream, "cuStreamGetDevice", context);
                if (result == CUDA_SUCCESS) *device = context->device;
                return result;
              })
FAKE_VARIANTS(cuStreamWaitEvent, _ptsz, (CUstream stream, CUevent event, unsigned int flags),
              (stream, event, flags), [&](State& /*s*/) {
                check_stream(stream, "cuStreamWaitEvent");
                check_event(event, "cuStreamWaitEvent");
                return CUDA_SUCCESS;
              })
FAKE_VARIANTS(cuStreamAttachMemAsync, _ptsz,
              (CUstream stream, CUdeviceptr address, size_t bytes, unsigned int flags),
              (stream, address, bytes, flags),
              [&](State& /*s*/) { return fake_cuda::enqueue(stream, "cuStreamAttachMemAsync", false); })
#undef cuStreamGetCaptureInfo_v2
FAKE_VARIANTS(cuStreamGetCaptureInfo_v2, _ptsz,
              (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
               const CUgraphNode** dependencies, size_t* count),
              (stream, status, id, graph, dependencies, count), [&](State& /*s*/) {
                check_stream(stream, "cuStreamGetCaptureInfo");
                const bool active = is_created(stream) && stream->capture != nullptr;
                *status = active ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
                if (id != nullptr) *id = active ? stream->id : 0;
                if (graph != nullptr) *graph = active ? stream->capture : nullptr;
                if (dependencies != nullptr) *dependencies = nullptr;
                if (count != nullptr) *count = 0;
                return CUDA_SUCCESS;
              })
FAKE_VARIANTS(cuStreamGetCaptureInfo_v3, _ptsz,
              (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
               const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count),
              (stream, status, id, graph, dependencies, edges, count), [&](State& /*s*/) {
                check_stream(stream, "cuStreamGetCaptureInfo");
                const bool active = is_created(stream) && stream->capture != nullptr;
                *status = active ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
                if (id != nullptr) *id = active ? stream->id : 0;
                if (graph != nullptr) *graph = active ? stream->capture : nullptr;
                if (dependencies != nullptr) *dependencies = nullptr;
                if (edges != nullptr) *edges = nullptr;
                if (count != nullptr) *count = 0;
                return CUDA_SUCCESS;
              })

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  const auto call = [&]() -> CUresult {
    FAKE_CALL(cuLaunchHostFunc, hStream, fn, userData)
    ([&](State& /*s*/) { return fake_cuda::enqueue(hStream, "cuLaunchHostFunc", false); });
  };
  return call_host(call(), hStream, [&] { fn(userData); });
}
CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                             unsigned int flags) {
  const auto call = [&]() -> CUresult {
    FAKE_CALL(cuStreamAddCallback, hStream, callback, userData, flags)
    ([&](State& /*s*/) { return fake_cuda::enqueue(hStream, "cuStreamAddCallback", false); });
  };
  return call_host(call(), hStream, [&] { callback(hStream, CUDA_SUCCESS, userData); });
}

CUresult cuEventCreate(CUevent* phEvent, unsigned int flags) {
  FAKE_CALL(cuEventCreate, phEvent, flags)
  ([&](State& s) {
    CUcontext context = nullptr;
    if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
    *phEvent = &s.events.emplace_back();
    (*phEvent)->context = context;
    return CUDA_SUCCESS;
  });
}
CUresult cuEventDestroy(CUevent event) {
  FAKE_CALL(cuEventDestroy_v2, event)
  ([&](State& /*s*/) {
    check_event(event, "cuEventDestroy");
    event->alive = false;
    return CUDA_SUCCESS;
  });
}
FAKE_VARIANTS(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream),
              [&](State& /*s*/) { return record(event, stream); })
FAKE_VARIANTS(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned int flags),
              (event, stream, flags), [&](State& /*s*/) { return record(event, stream); })
CUresult cuEventQuery(CUevent event) {
  FAKE_CALL(cuEventQuery, event)
  ([&](State& /*s*/) {
    check_event(event, "cuEventQuery");
    return CUDA_SUCCESS;
  });
}
CUresult cuEventSynchronize(CUevent event) {
  FAKE_CALL(cuEventSynchronize, event)
  ([&](State& /*s*/) {
    check_event(event, "cuEventSynchronize");
    return CUDA_SUCCESS;
  });
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  FAKE_CALL(cuEventElapsedTime_v2, milliseconds, start, end)
  ([&](State& /*s*/) { return elapsed(milliseconds, start, end); });
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  FAKE_CALL(cuEventElapsedTime, milliseconds, start, end)
  ([&](State& /*s*/) { return elapsed(milliseconds, start, end); });
}

}  // extern "C"
