#include "measure/worker/cache_flush.hpp"

#include "base/error.hpp"
#include "cache_flush_source.hpp"

namespace peakmark {

using backend::Device;
namespace {

// Flush twice the L2 size of a GPU, in two passes: its two halves hash addresses, and one pass of its size
// leaves lines behind. On a CPU flush once only: the cache may be shared with other virtual machines and have
// hundreds of MiB, so that more would take seconds per call.
constexpr Size kGpuCaches = 2;
constexpr int kGpuSweeps = 2;
// Consecutive elements that one item writes on a CPU: 64 KiB.
constexpr Size kCpuElementsAnItem = Size{16} << 10;

Size elements_of(const DeviceInfo& device) {
  if (!device.cache_bytes) throw UnsupportedError("the device does not report the size of its cache");
  const Size bytes = checked_multiply(*device.cache_bytes, device.is_cpu ? 1 : kGpuCaches);
  return divide_up(bytes, size_of(DType::f32));
}

}  // namespace

CacheFlush::CacheFlush(Device& device)
    : device_(device),
      elements_(elements_of(device.info())),
      kernel_(device.kernel(cache_flush_source(), "sweep", DType::f32)),
      buffer_(device.create_uninitialised("cache flush", {elements_}, DType::f32)) {}

CacheFlush::~CacheFlush() {
  try {
    device_.release(buffer_);
  } catch (const Error&) {  // late errors of earlier calls; finish() has already thrown them
  }
}

void CacheFlush::enqueue() {
  const bool is_cpu = device_.info().is_cpu;
  const Size each = is_cpu ? kCpuElementsAnItem : 1;
  for (int sweep = 0; sweep < (is_cpu ? 1 : kGpuSweeps); ++sweep) {
    device_.launch(kernel_, {.x = divide_up(elements_, each)}, {&buffer_, elements_, each, 1.0F});
  }
}

}  // namespace peakmark
