#include "copy_baseline.hpp"

#include "copy_source.hpp"

namespace peakmark {
namespace {

/// Elements of 4 bytes a work-item: a row of a large image.
constexpr Size kRow = 4096;

}  // namespace

CopyBaseline::CopyBaseline(Device& device, Size bytes)
    : device_(device),
      from_(device.create("copied from", {bytes / 4}, DType::u32)),
      to_(device.create("copied to", {bytes / 4}, DType::u32)),
      rows_(device.kernel(copy_source(), "copy_rows", DType::u32)),
      streamed_(device.kernel(copy_source(), "copy_rows_streamed", DType::u32)) {
  if (bytes % 4 != 0) throw UsageError("a copy baseline of a number of bytes that 4 does not divide");
  measure();
}

CopyBaseline::Times CopyBaseline::measure() {
  const Size count = from_.shape().elements();
  const auto time_of = [&](const Kernel& kernel) {
    return device_time_ns(device_, [&] {
      device_.launch(kernel, {.x = (count + kRow - 1) / kRow, .local_x = 16}, {&from_, &to_, count, kRow});
    });
  };
  Times times;
  times.command = device_time_ns(device_, [&] { device_.copy(from_, 0, to_, 0, from_.bytes()); });
  times.kernel = time_of(rows_);
  const std::int64_t cpu_begin = process_cpu_ns();
  times.streamed = time_of(streamed_);
  times.streamed_cpu = process_cpu_ns() - cpu_begin;
  return times;
}

}  // namespace peakmark
