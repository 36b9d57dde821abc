#include "kernels/fbp/problem.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "kernels/fbp/opposite_lines.hpp"

namespace peakmark {

std::string_view to_string(FbpMethod method) {
  switch (method) {
    case FbpMethod::whole:
      return "whole";
    case FbpMethod::inplace:
      return "inplace";
    case FbpMethod::kept:
      break;
  }
  return "kept";
}

FilterProblem filter_problem(const FbpShape& shape, const FbpOptions& options) {
  FilterProblem problem;
  problem.n_z = shape.n_z;
  problem.n_a = options.half ? shape.n_a / 2 : shape.n_a;
  problem.w = options.half ? slice_frame(frame_geometry(shape, options)).side : shape.w;
  problem.filter = options.filter;
  problem.mode = options.mode;
  problem.fft = options.fft;
  return problem;
}

BackprojectionGeometry frame_geometry(const FbpShape& shape, const FbpOptions& options) {
  BackprojectionGeometry geometry;
  geometry.n_a = shape.n_a;
  geometry.w = shape.w;
  geometry.axis = options.axis.value_or(static_cast<double>(shape.w - 1) / 2);
  geometry.half = options.half;
  geometry.clip = options.clip;
  geometry.region = options.region;
  return geometry;
}

BackprojectionGeometry scan_geometry(const FbpShape& shape, const FbpOptions& options, FbpAngles angles) {
  BackprojectionGeometry geometry = frame_geometry(shape, options);
  geometry.angles = std::move(angles.angles);
  geometry.corrections = std::move(angles.corrections);
  check(geometry);
  return geometry;
}

void check(const FbpShape& shape, const FbpOptions& options) {
  check_frame(frame_geometry(shape, options));
  if (options.half) check_pairs(shape.n_a);
  check(filter_problem(shape, options));
  if (options.chunk < 0)
    throw UsageError(
        fmt::format("fbp: chunk is {}; give the maximum number of slices processed at a time, or 0 for all",
                    options.chunk));
  try {
    static_cast<void>(checked_multiply(shape.n_z, floor_bytes(shape, options)));
  } catch (const OverflowError&) {
    throw OverflowError(fmt::format(
        "fbp: {} sinograms and slices (n_z) of {} bytes need more bytes than 64 bits can count; give fewer",
        shape.n_z, floor_bytes(shape, options)));
  }
}

Size floor_bytes(const FbpShape& shape, const FbpOptions& options) {
  const BackprojectionGeometry geometry = frame_geometry(shape, options);
  return checked_add(geometry.sinogram_shape().bytes(DType::f32),
                     slice_frame(geometry).slice_shape().bytes(DType::f32));
}

namespace {

Size slice_elements(const FbpShape& shape, const FbpOptions& options) {
  return slice_frame(frame_geometry(shape, options)).slice_shape().elements();
}

}  // namespace

LineBatch line_batch(const FbpShape& shape, const FbpOptions& options) {
  const FilterProblem problem = filter_problem(shape, options);
  if (options.half && (options.batch < 0 || options.batch > problem.n_a))
    throw UsageError(
        fmt::format("fbp: batch is {}; the {} lines of half-acquisition are joined to {}: give 1 to {}, or 0 "
                    "for as many as fit the allowance",
                    options.batch, shape.n_a, problem.n_a, problem.n_a));
  if (options.batch != 0) return batch_of(problem, options.batch);
  LineAllowance allowance{.percent = options.allowance,
                          .floor_bytes = floor_bytes(shape, options),
                          .min_bytes = kMinAllowance,
                          .lent_bytes = slice_elements(shape, options) * 4};
  for (const Part& part : angle_parts(shape, options))
    allowance.table_bytes = checked_add(allowance.table_bytes, part.fixed_bytes);
  return batch_within(problem, allowance);
}

Size lent_line(const FbpShape& shape, const FbpOptions& options) {
  const Size pitch = filter_problem(shape, options).padded_width() + 2;
  return divide_up(checked_multiply(shape.n_z - 1, slice_elements(shape, options)), pitch);
}

std::vector<Part> angle_parts(const FbpShape& shape, const FbpOptions& options) {
  const BackprojectionMethod method = backprojection_of(options.method);
  // There are half as many joined lines, except where they are split, in the place of all lines.
  const bool joined = options.half && options.method == FbpMethod::whole;
  std::vector<Part> parts =
      table_parts(method, joined ? shape.n_a / 2 : shape.n_a, options.corrected, DType::f32);
  if (options.half)
    parts.push_back({"mirrors", 0, OppositeLines::mirrors_shape(shape.n_a).bytes(DType::f32)});
  return parts;
}

}  // namespace peakmark
