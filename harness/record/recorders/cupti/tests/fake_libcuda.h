#pragma once

// The functions of the fake libcuda.so.1 besides the driver's calls, for test programs and the fake CUPTI. A
// plain C header.
#include <cuda.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Makes the next call of this thread return `result` without any effect. CUDA_SUCCESS cancels that.
void fake_cuda_refuse_next(CUresult result);

/// Makes handles of pools, contexts and cuMemCreate reusable as soon as they are free. A cuMemCreate handle
/// is free when it is released, even while its memory is mapped.
void fake_cuda_reuse_handles(int on);

/// Returns how often a stream or a context was waited for or queried.
uint64_t fake_cuda_synchronisations(void);

/// A callback at the start or the end of a call, as CUPTI makes it.
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
/// Sets the only hook; null: none.
void fake_cuda_set_hook(const struct FakeCudaHook* hook);
/// Returns the id and device of a context. Aborts if it was destroyed.
void fake_cuda_context(CUcontext context, uint32_t* uid, uint32_t* device);

#ifdef __cplusplus
}
#endif
