#include "base/error.hpp"
#include "device/backends.hpp"

namespace peakmark {

void list_cuda(DeviceList& list) {
  list.reasons.emplace_back("CUDA: this peakmark was built without it (configure with -DPEAKMARK_CUDA=ON)");
}

std::unique_ptr<Device> open_cuda(const DeviceInfo& /*info*/) {
  throw DeviceError("CUDA: this peakmark was built without it (configure with -DPEAKMARK_CUDA=ON)");
}

}  // namespace peakmark
