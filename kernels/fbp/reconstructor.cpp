#include "kernels/fbp/reconstructor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/shape.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/filter/whole_filter.hpp"

namespace peakmark {
namespace {

void check_shape(const char* what, const DeviceArray& array, const Shape& expected) {
  if (!(shape(array) == expected))
    throw UsageError(
        fmt::format("fbp: {} of shape {}; it is set up for {}", what, shape(array).text(), expected.text()));
}

}  // namespace

Reconstructor::Reconstructor(Device& device, const FbpShape& shape, FbpOptions options, FbpAngles angles)
    : device_(device), shape_(shape), options_(options), chunk_(chunk_slices(shape, options)) {
  check(shape, options);
  options_.corrected = !angles.corrections.empty();
  geometry_ = scan_geometry(shape, options_, std::move(angles));
  if (options_.half) {
    joined_.emplace(geometry_);
    opposite_.emplace(device, *joined_);
  }
  if (options_.method == FbpMethod::whole) {
    whole_.emplace(device, filter_problem({chunk_, shape.n_a, shape.w}, options_));
  } else {
    lines_.emplace(device, filter_problem(shape, options_), line_batch(shape, options_));
  }
  check_method(backprojection_of(options_.method), device, DType::f32);
}

void Reconstructor::set_up() {
  if (whole_) whole_->set_up();
  if (lines_) lines_->set_up(lent_line(shape_, options_));
  if (opposite_) opposite_->set_up();
  const BackprojectionGeometry& filtered = !joined_ ? geometry_ : whole_ ? joined_->joined : joined_->parted;
  if (!destroys_input(options_.method))
    filtered_ = create_uninitialised(device_, "filtered", {chunk_, filtered.n_a, filtered.w}, DType::f32);
  backprojector_ = make_backprojector(backprojection_of(options_.method), device_, filtered, DType::f32);
}

void Reconstructor::operator()(DeviceArray& sinograms, DeviceArray& slices) {
  check_shape("sinograms", sinograms, sinograms_shape());
  check_shape("slices", slices, slices_shape());
  for (Size z = 0; z < shape_.n_z; z += chunk_) {
    const Size now = std::min(chunk_, shape_.n_z - z);
    if (destroys_input(options_.method)) {
      filter_in_place(sinograms, z, now, slices);
      (*backprojector_)(sinograms, z, slices, z, now);
    } else {
      fill_filtered(sinograms, z, now, slices);
      (*backprojector_)(filtered_, 0, slices, z, now);
    }
  }
}

void Reconstructor::fill_filtered(const DeviceArray& sinograms, Size first, Size count, DeviceArray& slices) {
  if (whole_ && !opposite_ && count == shape_.n_z) {
    (*whole_)(sinograms, filtered_);
    return;
  }
  if (whole_ && opposite_) {
    for (Size z = 0; z < count; ++z) opposite_->join(sinograms, first + z, filtered_, z);
  } else {
    const Size sinogram_bytes = geometry_.sinogram_shape().bytes(DType::f32);
    device_.copy(sinograms, first * sinogram_bytes, filtered_, 0, count * sinogram_bytes);
  }
  if (whole_)
    (*whole_)(filtered_, filtered_);
  else
    filter_in_place(filtered_, 0, count, slices);
}

Shape Reconstructor::slices_shape() const {
  const Shape slice = slice_frame(geometry_).slice_shape();
  return {shape_.n_z, slice[0], slice[1]};
}

// Filters one sinogram at a time, never a batch with lines of two. Lines are transformed in pairs, and the
// last digits of a line depend on its partner. So a slice has the same bits at any place in any stack.
void Reconstructor::filter_in_place(DeviceArray& sinograms, Size first, Size count, DeviceArray& slices) {
  using Padded = LineFilter::PaddedLines;
  for (Size z = first; z < first + count; ++z) {
    if (!opposite_) {
      (*lines_)(sinograms, sinograms, z * shape_.n_a, shape_.n_a, &slices);
      continue;
    }
    (*lines_)(
        0, joined_->half,
        [&](const Padded& to, Size pair, Size pairs) { opposite_->join(sinograms, z, to, pair, pairs); },
        [&](const Padded& from, Size pair, Size pairs) { opposite_->part(from, sinograms, z, pair, pairs); },
        &slices);
  }
}

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
