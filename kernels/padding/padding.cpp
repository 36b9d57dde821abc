#include "kernels/padding/padding.hpp"

#include <fmt/format.h>

#include "kernels/common/axes.hpp"
#include "kernels/padding/computation.hpp"
#include "kernels/padding/estimators.hpp"

namespace peakmark {
namespace {

using Make = std::unique_ptr<PaddingComputation> (*)(Device&, PaddingProblem, KernelGrain);

Variant variant(std::string name, std::string help, std::shared_ptr<const Estimator> estimator, Make make) {
  Variant result;
  result.description.name = std::move(name);
  result.description.help = std::move(help);
  result.description.axes = {
      word_axis(
          "mode", "edge", padding_mode_names(),
          fmt::format("what stands outside the image, as in numpy.pad; custom: at most {} padded rows and "
                      "as many columns",
                      kMaxCustomCoordinates)),
      size_axis("n", 20, "slices"),
      size_axis("ny", 512, "rows of an image"),
      size_axis("nx", 512, "columns of an image"),
      size_axis("pad_y0", 64, "rows before the image", 0),
      size_axis("pad_y1", 64, "rows after it", 0),
      size_axis("pad_x0", 64, "columns before the image", 0),
      size_axis("pad_x1", 64, "columns after it", 0),
      dtype_axis({"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"}),
  };
  result.description.slice_axis = std::string("n");
  result.description.slice_dimension = 0;
  result.estimators = {std::move(estimator)};
  result.request = [](const Parameters& parameters) { return stack_request(parameters, 0, "ny", "nx"); };
  result.make = [make](Device& device, const Parameters& parameters) -> std::unique_ptr<Computation> {
    return make(device, padding_problem(parameters), grain_for(device.info()));
  };
  return result;
}

}  // namespace

std::vector<Variant> padding_variants() {
  std::vector<Variant> variants;
  variants.push_back(variant("padding/coords2d",
                             "old: a source row and column for each padded element; constant from a template",
                             coords2d_estimator(), make_coords2d));
  variants.push_back(variant("padding/coords1d",
                             "new: a source for each padded row and column; constant from a template",
                             coords1d_estimator(), make_coords1d));
  variants.push_back(variant("padding/computed", "next: sources worked out in the kernel, nothing kept",
                             computed_estimator(), make_computed));
  return variants;
}

}  // namespace peakmark
