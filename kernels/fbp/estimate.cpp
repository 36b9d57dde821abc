#include "kernels/fbp/estimate.hpp"

#include <algorithm>

#include "base/shape.hpp"
#include "kernels/filter/whole_filter.hpp"

namespace peakmark {
namespace {

struct Sum {
  Size per_slice = 0, fixed = 0;
};

Sum sum_of(const std::vector<Part>& parts) {
  Sum sum;
  for (const Part& part : parts) {
    sum.per_slice = checked_add(sum.per_slice, part.per_slice_bytes);
    sum.fixed = checked_add(sum.fixed, part.fixed_bytes);
  }
  return sum;
}

/// Returns the number of slices that fit `available_bytes`, at most `most`. `parts` must be valid up to
/// `most` slices.
Size slices_within(Size available_bytes, const std::vector<Part>& parts, Size most) {
  const Sum sum = sum_of(parts);
  return available_bytes < sum.fixed ? 0 : std::min(most, (available_bytes - sum.fixed) / sum.per_slice);
}

/// Memory besides sinograms and slices that grows with the number of slices processed at a time.
std::vector<Part> work_parts(const FbpShape& shape, const FbpOptions& options) {
  const FilterProblem lines = filter_problem(shape, options);
  std::vector<Part> parts;
  switch (options.method) {
    case FbpMethod::whole:
      parts = whole_filter_parts(lines);
      parts.insert(parts.begin(), {"filtered", Shape{lines.n_a, lines.w}.bytes(DType::f32), 0});
      break;
    case FbpMethod::inplace:
      parts = line_batch(shape, options).parts;
      break;
    case FbpMethod::kept:
      parts = line_batch(shape, options).parts;
      parts.insert(parts.begin(), {"filtered", Shape{shape.n_a, shape.w}.bytes(DType::f32), 0});
      break;
  }
  return parts;
}

}  // namespace

std::vector<Part> fbp_parts(const FbpShape& shape, const FbpOptions& options) {
  check(shape, options);
  const BackprojectionGeometry geometry = frame_geometry(shape, options);
  const Size chunk = chunk_slices(shape, options);
  std::vector<Part> parts{{"sinograms", geometry.sinogram_shape().bytes(DType::f32), 0},
                          {"slices", slice_frame(geometry).slice_shape().bytes(DType::f32), 0}};
  for (Part& part : work_parts(shape, options)) {
    if (chunk < shape.n_z) {
      part.fixed_bytes = checked_add(part.fixed_bytes, checked_multiply(chunk, part.per_slice_bytes));
      part.per_slice_bytes = 0;
    }
    parts.push_back(std::move(part));
  }
  for (Part& part : angle_parts(shape, options)) parts.push_back(std::move(part));
  return parts;
}

Size estimate_required_memory(const FbpShape& shape, const FbpOptions& options) {
  const Sum sum = sum_of(fbp_parts(shape, options));
  return checked_add(sum.fixed, checked_multiply(shape.n_z, sum.per_slice));
}

Size estimate_max_chunk_size(Size available_bytes, const FbpShape& shape, const FbpOptions& options) {
  // Up to the size of a chunk, every slice has its own work memory; more slices share that of one chunk.
  const Size max_together = chunk_slices(shape, options);
  const Size together =
      slices_within(available_bytes, fbp_parts({max_together, shape.n_a, shape.w}, options), max_together);
  return together < max_together ? together
                                 : slices_within(available_bytes, fbp_parts(shape, options), shape.n_z);
}

std::vector<Part> nabu_parts(Size n_a, Size w) {
  return {{"sinogram_padded_and_transformed", checked_multiply(5, Shape{n_a, w}.bytes(DType::f32)), 0},
          {"slice", Shape{w, w}.bytes(DType::f32), 0}};
}

}  // namespace peakmark
