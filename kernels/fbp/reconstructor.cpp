#include "kernels/fbp/reconstructor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace peakmark {
namespace {

BackprojectionGeometry geometry_of(const FbpShape& shape, const FbpOptions& options, FbpAngles angles) {
  BackprojectionGeometry geometry = frame_geometry(shape, options);
  geometry.angles = std::move(angles.angles);
  geometry.corrections = std::move(angles.corrections);
  check(geometry);
  return geometry;
}

void check_shape(const char* what, const Array& array, const Shape& shape) {
  if (!(array.shape() == shape))
    throw UsageError(
        fmt::format("fbp: {} of shape {}; it is set up for {}", what, array.shape().text(), shape.text()));
}

}  // namespace

Reconstructor::Reconstructor(Device& device, const FbpShape& shape, FbpOptions options, FbpAngles angles)
    : device_(device), shape_(shape), options_(options), chunk_(chunk_slices(shape, options)) {
  check(shape, options);
  options_.corrected = !angles.corrections.empty();
  geometry_ = geometry_of(shape, options_, std::move(angles));
  if (options_.way == FbpWay::whole) {
    whole_.emplace(device, filter_problem({chunk_, shape.n_a, shape.w}, options_));
  } else {
    lines_.emplace(device, filter_problem(shape, options_), line_batch(shape, options_));
  }
  check_way(backprojection_of(options_.way), device.info(), DType::f32);
}

void Reconstructor::set_up() {
  if (whole_) whole_->set_up();
  if (lines_) lines_->set_up();
  if (!destroys_input(options_.way))
    filtered_ = device_.create_uninitialised("filtered", {chunk_, shape_.n_a, shape_.w}, DType::f32);
  if (geometry_.weighted()) weighting_ = std::make_unique<OverlapWeighting>(device_, geometry_, DType::f32);
  BackprojectionGeometry weighted_before = geometry_;
  weighted_before.weigh = false;
  backprojector_ = make_backprojector(backprojection_of(options_.way), device_, weighted_before, DType::f32);
}

void Reconstructor::operator()(Array& sinograms, Array& slices) {
  check_shape("sinograms", sinograms, sinograms_shape());
  check_shape("slices", slices, slices_shape());
  const bool in_place = destroys_input(options_.way);
  if (in_place && weighting_) (*weighting_)(sinograms);
  const Size sinogram_bytes = geometry_.sinogram_shape().bytes(DType::f32);
  for (Size z = 0; z < shape_.n_z; z += chunk_) {
    const Size now = std::min(chunk_, shape_.n_z - z);
    if (in_place) {
      filter_in_place(sinograms, z, now);
      (*backprojector_)(sinograms, z, slices, z, now);
      continue;
    }
    if (whole_ && !weighting_ && now == shape_.n_z) {
      (*whole_)(sinograms, filtered_);
    } else {
      device_.copy(sinograms, z * sinogram_bytes, filtered_, 0, now * sinogram_bytes);
      if (weighting_) (*weighting_)(filtered_);
      if (whole_)
        (*whole_)(filtered_, filtered_);
      else
        filter_in_place(filtered_, 0, now);
    }
    (*backprojector_)(filtered_, 0, slices, z, now);
  }
}

Shape Reconstructor::slices_shape() const {
  const Shape slice = slice_frame(geometry_).slice_shape();
  return {shape_.n_z, slice[0], slice[1]};
}

// A sinogram at a time, never a batch across two: lines are transformed in pairs, and what a line is paired
// with shows in its last digits. So a slice is the same to the bit wherever it stands in whatever stack.
void Reconstructor::filter_in_place(Array& sinograms, Size first, Size count) {
  for (Size z = first; z < first + count; ++z) (*lines_)(sinograms, sinograms, z * shape_.n_a, shape_.n_a);
}

}  // namespace peakmark
