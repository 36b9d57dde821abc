#include "recorders/opencl/layer.hpp"

namespace peakmark::opencl_layer {
namespace {

void* CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
  void* const memory = layer.next().clSVMAlloc(context, flags, size, alignment);
  if (memory == nullptr) {
    // The call has no error code of its own.
    layer.writer.failed_allocation(static_cast<std::int64_t>(size), MemoryKind::svm,
                                   CL_MEM_OBJECT_ALLOCATION_FAILURE);
  } else {
    layer.writer.allocation(address_of(memory), static_cast<std::int64_t>(size), MemoryKind::svm);
  }
  return memory;
}

void CL_API_CALL svm_free(cl_context context, void* memory) {
  if (memory != nullptr) layer.writer.release(address_of(memory));
  layer.next().clSVMFree(context, memory);
}

/// What the driver would have done itself, had the program given no function of its own.
void CL_CALLBACK free_all(cl_command_queue /*queue*/, cl_uint count, void* memory[], void* context) {
  for (cl_uint i = 0; i < count; ++i) svm_free(static_cast<cl_context>(context), memory[i]);
}

using FreeFunction = void(CL_CALLBACK*)(cl_command_queue, cl_uint, void*[], void*);

/// The memory goes when the command runs, which may be much later: so the release is recorded by the function
/// that frees it. A function of the program's own comes to us through clSVMFree.
cl_int CL_API_CALL enqueue_svm_free(cl_command_queue queue, cl_uint count, void* memory[],
                                    FreeFunction function, void* user_data, cl_uint waits,
                                    const cl_event* wait_list, cl_event* event) {
  cl_context context = nullptr;
  if (function == nullptr && layer.next().clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context),
                                                                &context, nullptr) == CL_SUCCESS) {
    function = free_all;
    user_data = context;
  }
  return layer.next().clEnqueueSVMFree(queue, count, memory, function, user_data, waits, wait_list, event);
}

}  // namespace

void hook_svm() {
  using Slots = cl_icd_dispatch;
  hook(&Slots::clSVMAlloc, svm_alloc);
  hook(&Slots::clSVMFree, svm_free);
  hook(&Slots::clEnqueueSVMFree, enqueue_svm_free);
}

}  // namespace peakmark::opencl_layer
