#include "kernels/fbp/opposite_lines.hpp"

#include "fbp_opposite_lines_source.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/filter/line_kernels.hpp"

namespace peakmark {
namespace {

constexpr Size kColumnsAnItem = 4;  // COLUMNS_AN_ITEM of join_opposite_elements

}  // namespace

OppositeLines::OppositeLines(Device& device, const JoinedScan& scan) : device_(device), scan_(scan) {
  const KernelSource& source = fbp_opposite_lines_source();
  const bool rows = device.is_cpu();
  join_ = find_kernel(device, source, rows ? "join_opposite_rows" : "join_opposite_elements", DType::f32);
  part_ = find_kernel(device, source, rows ? "part_opposite_rows" : "part_opposite_elements", DType::f32);
}

void OppositeLines::set_up() {
  std::vector<float> values;
  for (const JoinedScan::Mirror& mirror : scan_.mirrors)
    for (const double value : {mirror.whole, mirror.fraction, static_cast<double>(mirror.moved)})
      values.push_back(static_cast<float>(value));
  mirrors_ =
      create_with<float>(device_, "mirrors", mirrors_shape(2 * scan_.half), std::span<const float>(values));
  no_columns_ = create(device_, "columns", {0}, DType::i32);
}

void OppositeLines::join(const DeviceArray& sinograms, Size z, const LineFilter::PaddedLines& padded,
                         Size first, Size pairs) {
  enqueue_join(sinograms, z,
               {padded.work, padded.offset, padded.pitch, padded.before, padded.length, padded.columns},
               first, pairs);
}

void OppositeLines::join(const DeviceArray& sinograms, Size z, DeviceArray& joined, Size to_z) {
  enqueue_join(sinograms, z, {joined, to_z * scan_.half * scan_.side, scan_.side, 0, scan_.side, no_columns_},
               0, scan_.half);
}

void OppositeLines::enqueue_join(const DeviceArray& sinograms, Size z, const Target& to, Size first,
                                 Size pairs) {
  const Size offset = z * 2 * scan_.half * scan_.w;
  const std::int32_t right = scan_.right ? 1 : 0;
  const std::int32_t has_columns = to.columns.elements() > 0 ? 1 : 0;
  if (device_.is_cpu()) {
    device_.launch(join_, {.x = pairs, .local_x = 1},
                   {sinograms, offset, mirrors_, to.columns, has_columns, to.lines, to.offset, first, pairs,
                    scan_.half, scan_.w, scan_.side, scan_.added, right, to.before, to.length, to.pitch});
    return;
  }
  const Range range = range_of_lines(divide_up(to.length, kColumnsAnItem), pairs);
  device_.launch(
      join_, range,
      {sinograms, offset, mirrors_, to.columns, has_columns, to.lines, to.offset, first, pairs, scan_.half,
       scan_.w, scan_.side, scan_.added, right, to.before, to.length, to.pitch, range.y});
}

void OppositeLines::part(const LineFilter::PaddedLines& padded, DeviceArray& sinograms, Size z, Size first,
                         Size pairs) {
  const Size offset = z * 2 * scan_.half * scan_.w;
  if (device_.is_cpu()) {
    device_.launch(part_, {.x = pairs, .local_x = 1},
                   {padded.work, padded.offset, sinograms, offset, first, pairs, scan_.half, scan_.w,
                    scan_.side, scan_.split, padded.before, padded.pitch});
    return;
  }
  const Range range = range_of_lines(scan_.w, pairs);
  device_.launch(part_, range,
                 {padded.work, padded.offset, sinograms, offset, first, pairs, scan_.half, scan_.w,
                  scan_.side, scan_.split, padded.before, padded.pitch, range.y});
}

}  // namespace peakmark
