#pragma once

namespace peakmark {

class Registry;

/// The variants of back-projection: sinograms (n_z, n_a, w) → slices (n_z, h, w), each by a Backprojector.
void add_backprojection(Registry& registry);

}  // namespace peakmark
