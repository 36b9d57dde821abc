#pragma once

// What libcuda.so.1 of this folder exports beside the driver's own calls: for test programs, and for the fake
// CUPTI. A plain C header.
#include <cuda.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Makes the next call of this thread return `result` without doing anything. CUDA_SUCCESS takes that back.
void fake_cuda_refuse_next(CUresult result);

/// From now on handles of pools, contexts and cuMemCreate are given out again as soon as they are free: the one
/// of a cuMemCreate when it is released, even while its memory is mapped.
void fake_cuda_reuse_handles(int on);

/// How often a stream or a context was waited for, or asked whether it is idle.
uint64_t fake_cuda_synchronisations(void);

/// Where a call shows itself: at its start and its end, as CUPTI does.
struct FakeCudaCall {
  int is_exit;
  uint32_t id;  ///< CUpti_driver_api_trace_cbid
  const char* name;
  const void* parameters;
  CUresult* result;  ///< at the end
  CUcontext context;
  uint32_t context_uid;
  uint32_t correlation_id;
  uint64_t* correlation_data;
};
struct FakeCudaHook {
  void (*call)(const struct FakeCudaCall* call);
  void (*kernel)(CUcontext context, uint32_t correlation_id);
};
/// Null: none. There is one, as there is one CUPTI.
void fake_cuda_set_hook(const struct FakeCudaHook* hook);
/// Aborts for a context that was destroyed.
void fake_cuda_context(CUcontext context, uint32_t* uid, uint32_t* device);

#ifdef __cplusplus
}
#endif
