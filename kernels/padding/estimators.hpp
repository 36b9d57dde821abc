#pragma once

#include <memory>
#include <vector>

#include "estimate/estimator.hpp"

namespace peakmark {

// What each variant of padding needs, written down. Sizes in elements: an image is I = ny·nx, a padded one
// P = Hp·Wp with Hp = pad_y0 + ny + pad_y1 and Wp = pad_x0 + nx + pad_x1; e is the size of an element, 4 that
// of an int32 coordinate. A coordinate or a template serves all slices, so it is a fixed term.

/// e·(I + P) a slice; fixed: 8·P for coordinates, or e·P for the template of `constant`.
std::shared_ptr<const Estimator> coords2d_estimator();
/// e·(I + P) a slice; fixed: 4·(Hp + Wp) for coordinates, or e·P for the template of `constant`.
std::shared_ptr<const Estimator> coords1d_estimator();
/// e·(I + P) a slice; nothing fixed, but 4·(Hp + Wp) for the inputs of `custom`.
std::shared_ptr<const Estimator> computed_estimator();

}  // namespace peakmark
