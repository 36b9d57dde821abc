#include "kernels/fbp/estimate.hpp"

#include <algorithm>

#include "base/shape.hpp"
#include "kernels/filter/whole_filter.hpp"

namespace peakmark {
namespace {

struct Sum {
  Size per_slice = 0, fixed = 0;
};

Sum sum_of(const std::vector<Term>& terms) {
  Sum sum;
  for (const Term& term : terms) {
    sum.per_slice = checked_add(sum.per_slice, term.per_slice_bytes);
    sum.fixed = checked_add(sum.fixed, term.fixed_bytes);
  }
  return sum;
}

/// 0 to `most`, by terms that hold for as many.
Size slices_within(Size available_bytes, const std::vector<Term>& terms, Size most) {
  const Sum sum = sum_of(terms);
  return available_bytes < sum.fixed ? 0 : std::min(most, (available_bytes - sum.fixed) / sum.per_slice);
}

/// What is beside sinograms and slices and grows with the slices that are worked on at a time.
std::vector<Term> work_terms(const FbpShape& shape, const FbpOptions& options) {
  const FilterProblem lines = filter_problem(shape, options);
  std::vector<Term> terms;
  switch (options.method) {
    case FbpMethod::whole:
      terms = whole_filter_terms(lines);
      terms.insert(terms.begin(), {"filtered", Shape{lines.n_a, lines.w}.bytes(DType::f32), 0});
      break;
    case FbpMethod::inplace:
      terms = line_batch(shape, options).terms;
      break;
    case FbpMethod::kept:
      terms = line_batch(shape, options).terms;
      terms.insert(terms.begin(), {"filtered", Shape{shape.n_a, shape.w}.bytes(DType::f32), 0});
      break;
  }
  return terms;
}

}  // namespace

std::vector<Term> fbp_terms(const FbpShape& shape, const FbpOptions& options) {
  check(shape, options);
  const BackprojectionGeometry geometry = frame_geometry(shape, options);
  const Size chunk = chunk_slices(shape, options);
  std::vector<Term> terms{{"sinograms", geometry.sinogram_shape().bytes(DType::f32), 0},
                          {"slices", slice_frame(geometry).slice_shape().bytes(DType::f32), 0}};
  for (Term& term : work_terms(shape, options)) {
    if (chunk < shape.n_z) {
      term.fixed_bytes = checked_add(term.fixed_bytes, checked_multiply(chunk, term.per_slice_bytes));
      term.per_slice_bytes = 0;
    }
    terms.push_back(std::move(term));
  }
  for (Term& term : angle_terms(shape, options)) terms.push_back(std::move(term));
  return terms;
}

Size estimate_required_memory(const FbpShape& shape, const FbpOptions& options) {
  const Sum sum = sum_of(fbp_terms(shape, options));
  return checked_add(sum.fixed, checked_multiply(shape.n_z, sum.per_slice));
}

Size estimate_max_chunk_size(Size available_bytes, const FbpShape& shape, const FbpOptions& options) {
  // Up to a chunk every slice has its own work; beyond, that of a chunk is there once.
  const Size most_together = chunk_slices(shape, options);
  const Size together =
      slices_within(available_bytes, fbp_terms({most_together, shape.n_a, shape.w}, options), most_together);
  return together < most_together ? together
                                  : slices_within(available_bytes, fbp_terms(shape, options), shape.n_z);
}

std::vector<Term> nabu_terms(Size n_a, Size w) {
  return {{"sinogram_padded_and_transformed", checked_multiply(5, Shape{n_a, w}.bytes(DType::f32)), 0},
          {"slice", Shape{w, w}.bytes(DType::f32), 0}};
}

}  // namespace peakmark
