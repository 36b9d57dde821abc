#include "layer_entry.hpp"

#include <CL/cl_layer.h>

#include <algorithm>
#include <cstring>

namespace peakmark::test_layer {

cl_icd_dispatch next{};

}  // namespace peakmark::test_layer

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size, void* value, size_t* size_ret) {
  if (name != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (value != nullptr && size >= sizeof(version)) std::memcpy(value, &version, sizeof(version));
  if (size_ret != nullptr) *size_ret = sizeof(version);
  return CL_SUCCESS;
}

EXPORT cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
                                      const cl_icd_dispatch** layer_ret) {
  using peakmark::test_layer::next;
  static cl_icd_dispatch hooks{};
  std::memcpy(&next, target, std::min<std::size_t>(entries * sizeof(void*), sizeof(next)));
  peakmark::test_layer::set_hooks(hooks);
  *entries_ret = std::min<cl_uint>(entries, sizeof(hooks) / sizeof(void*));
  *layer_ret = &hooks;
  return CL_SUCCESS;
}
