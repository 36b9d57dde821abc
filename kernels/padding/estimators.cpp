#include "kernels/padding/estimators.hpp"

#include "base/shape.hpp"
#include "estimate/estimator.hpp"
#include "kernels/padding/problem.hpp"

namespace peakmark {
namespace {

struct Sizes {
  PaddingMode mode;
  Size rows, columns;  ///< of the padded image
  Size image_bytes, padded_bytes;
  Size coordinate_image_bytes;
};

Sizes sizes_of(const EstimateRequest& request) {
  const auto [ny, nx] = request.other_dimensions;
  const Parameters& p = request.parameters;
  Sizes sizes{};
  sizes.mode = parse_padding_mode(p.word("mode"));
  sizes.rows = checked_add(checked_add(p.integer("pad_y0"), ny), p.integer("pad_y1"));
  sizes.columns = checked_add(checked_add(p.integer("pad_x0"), nx), p.integer("pad_x1"));
  sizes.image_bytes = Shape{ny, nx}.bytes(request.dtype);
  sizes.padded_bytes = Shape{sizes.rows, sizes.columns}.bytes(request.dtype);
  sizes.coordinate_image_bytes = Shape{sizes.rows, sizes.columns}.bytes(DType::i32);
  return sizes;
}

std::vector<Term> with_fixed(const Sizes& sizes, std::vector<Term> fixed) {
  std::vector<Term> terms = {{"input", sizes.image_bytes, 0}, {"output", sizes.padded_bytes, 0}};
  terms.insert(terms.end(), fixed.begin(), fixed.end());
  return terms;
}

std::vector<Term> coordinate_vectors(const Sizes& sizes) {
  return {{"row_coordinates", 0, checked_multiply(4, sizes.rows)},
          {"column_coordinates", 0, checked_multiply(4, sizes.columns)}};
}

std::vector<Term> coords2d_terms(const EstimateRequest& request) {
  const Sizes sizes = sizes_of(request);
  if (sizes.mode == PaddingMode::constant) return with_fixed(sizes, {{"template", 0, sizes.padded_bytes}});
  return with_fixed(sizes, {{"row_coordinates", 0, sizes.coordinate_image_bytes},
                            {"column_coordinates", 0, sizes.coordinate_image_bytes}});
}

std::vector<Term> coords1d_terms(const EstimateRequest& request) {
  const Sizes sizes = sizes_of(request);
  if (sizes.mode == PaddingMode::constant) return with_fixed(sizes, {{"template", 0, sizes.padded_bytes}});
  return with_fixed(sizes, coordinate_vectors(sizes));
}

std::vector<Term> computed_terms(const EstimateRequest& request) {
  const Sizes sizes = sizes_of(request);
  if (sizes.mode == PaddingMode::custom) return with_fixed(sizes, coordinate_vectors(sizes));
  return with_fixed(sizes, {});
}

}  // namespace

std::shared_ptr<const Estimator> coords2d_estimator() {
  return make_module_estimator({.name = "padding/coords2d", .slice_dimension = 0, .output_dtype = {}},
                               coords2d_terms);
}

std::shared_ptr<const Estimator> coords1d_estimator() {
  return make_module_estimator({.name = "padding/coords1d", .slice_dimension = 0, .output_dtype = {}},
                               coords1d_terms);
}

std::shared_ptr<const Estimator> computed_estimator() {
  return make_module_estimator({.name = "padding/computed", .slice_dimension = 0, .output_dtype = {}},
                               computed_terms);
}

}  // namespace peakmark
