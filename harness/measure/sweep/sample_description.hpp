#pragma once

#include "measure/sweep/description.hpp"

namespace peakmark {

/// Returns a worker's description for tests: two operations with typical axes.
inline Description example_description() {
  Description description;
  description.worker = "example";
  const std::vector<std::string> modes{"constant", "edge", "reflect", "symmetric", "wrap"};
  const std::vector<std::string> dtypes{"f32", "f64"};
  for (const char* name : {"padding/coords2d", "padding/coords1d", "padding/computed"}) {
    VariantDescription padding;
    padding.name = name;
    padding.backends = {"opencl", "dry"};
    padding.axes = {{"mode", std::string("constant"), modes, 0, ""},
                    {"n", Size{20}, {}, 1, ""},
                    {"ny", Size{512}, {}, 1, ""},
                    {"nx", Size{512}, {}, 1, ""},
                    {"pad_y0", Size{0}, {}, 0, ""},
                    {"pad_y1", Size{0}, {}, 0, ""},
                    {"pad_x0", Size{0}, {}, 0, ""},
                    {"pad_x1", Size{0}, {}, 0, ""},
                    {"dtype", std::string("f32"), dtypes, 0, ""}};
    padding.slice_axis = "n";
    padding.estimators = {{"padding", "direct"}, {"padding/documented", "documented"}};
    description.variants.push_back(padding);
  }
  VariantDescription shift;
  shift.name = "vertical_shift/fused";
  shift.backends = {"opencl", "dry"};
  shift.axes = {{"n_a", Size{20}, {}, 1, ""},
                {"n_z", Size{64}, {}, 1, ""},
                {"nx", Size{64}, {}, 1, ""},
                {"shift", std::string("random8"), {}, 0, ""},
                {"origin", Size{0}, {}, -100, ""}};
  shift.slice_axis = "n_a";
  shift.estimators = {{"vertical_shift", "direct"}};
  description.variants.push_back(shift);
  return description;
}

}  // namespace peakmark
