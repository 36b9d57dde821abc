#include <fmt/format.h>

#include "kernels/common/variants.hpp"
#include "kernels/operations.hpp"
#include "kernels/padding/computation.hpp"
#include "peakmark/worker.hpp"

namespace peakmark {
namespace {

/// The sizes of a case that the formulas use. If an element has e bytes, an image has I = e·ny·nx bytes and a
/// padded image P = e·Hp·Wp, where Hp = pad_y0 + ny + pad_y1 and Wp = pad_x0 + nx + pad_x1. A coordinate has
/// 4 bytes. All slices share coordinates and a template.
struct Sizes {
  explicit Sizes(const Case& asked)
      : mode(parse_padding_mode(asked.word("mode"))),
        dtype(parse_dtype(asked.word("dtype"))),
        rows(checked_add(checked_add(asked["pad_y0"], asked["ny"]), asked["pad_y1"])),
        columns(checked_add(checked_add(asked["pad_x0"], asked["nx"]), asked["pad_x1"])),
        image_bytes(Shape{asked["ny"], asked["nx"]}.bytes(dtype)),
        padded_bytes(Shape{rows, columns}.bytes(dtype)) {}

  /// Returns the parts of every variant, and `kept`, which a variant keeps for all slices.
  [[nodiscard]] std::vector<Part> parts(const std::vector<Part>& kept) const {
    std::vector<Part> parts{{"input", image_bytes, 0}, {"output", padded_bytes, 0}};
    parts.insert(parts.end(), kept.begin(), kept.end());
    return parts;
  }
  [[nodiscard]] std::vector<Part> coordinate_vectors() const {
    return {{"row_coordinates", 0, checked_multiply(4, rows)},
            {"column_coordinates", 0, checked_multiply(4, columns)}};
  }

  PaddingMode mode;
  DType dtype;
  Size rows, columns;  ///< of the padded image
  Size image_bytes, padded_bytes;
};

/// I + P per slice; fixed: 8·Hp·Wp for coordinates, or P for the template of `constant`.
std::vector<Part> coords2d_parts(const Case& asked) {
  const Sizes sizes(asked);
  if (sizes.mode == PaddingMode::constant) return sizes.parts({{"template", 0, sizes.padded_bytes}});
  const Size coordinates = Shape{sizes.rows, sizes.columns}.bytes(DType::i32);
  return sizes.parts({{"row_coordinates", 0, coordinates}, {"column_coordinates", 0, coordinates}});
}

/// I + P per slice; fixed: 4·(Hp + Wp) for coordinates, or P for the template of `constant`.
std::vector<Part> coords1d_parts(const Case& asked) {
  const Sizes sizes(asked);
  if (sizes.mode == PaddingMode::constant) return sizes.parts({{"template", 0, sizes.padded_bytes}});
  return sizes.parts(sizes.coordinate_vectors());
}

/// I + P per slice; nothing fixed, except 4·(Hp + Wp) for the inputs of `custom`.
std::vector<Part> computed_parts(const Case& asked) {
  const Sizes sizes(asked);
  if (sizes.mode == PaddingMode::custom) return sizes.parts(sizes.coordinate_vectors());
  return sizes.parts({});
}

using Make = std::unique_ptr<PaddingComputation> (*)(Device&, PaddingProblem, KernelGrain);

void add_variant(Worker& worker, const std::string& name, std::string help, Make make,
                 std::vector<Part> (*parts)(const Case&)) {
  constexpr int kProjection = 0;
  worker.add({.name = name,
              .backends = {"opencl", "cuda", "dry"},
              .axes = {{"mode", "edge", padding_mode_names(),
                        fmt::format("what is outside the image, as in numpy.pad; custom: at most {} padded "
                                    "rows and as many columns",
                                    kMaxCustomCoordinates)},
                       {"n", 20, "slices"},
                       {"ny", 512, "rows of an image"},
                       {"nx", 512, "columns of an image"},
                       {"pad_y0", 64, "rows before the image", 0},
                       {"pad_y1", 64, "rows after it", 0},
                       {"pad_x0", 64, "columns before the image", 0},
                       {"pad_x1", 64, "columns after it", 0},
                       {"dtype",
                        "f32",
                        {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"},
                        "element type"}},
              .help = std::move(help),
              .slice_axis = "n",
              .slice_dimension = kProjection,
              .estimators = {Estimator::of_parts(with_api_errors(parts), name)},
              .mistake = [](const Case& asked) { return usage_error([&] { padding_problem(asked); }); }},
             [make](Device& device, const Case& asked) -> std::unique_ptr<Computation> {
               return make(device, padding_problem(asked), grain_for(device));
             });
}

}  // namespace

void add_padding(Worker& worker) {
  add_variant(worker, "padding/coords2d",
              "old: a source row and column for each padded element; constant from a template", make_coords2d,
              coords2d_parts);
  add_variant(worker, "padding/coords1d",
              "new: a source for each padded row and column; constant from a template", make_coords1d,
              coords1d_parts);
  add_variant(worker, "padding/computed", "next: sources computed in the kernel, no tables", make_computed,
              computed_parts);
}

}  // namespace peakmark
