#pragma once

namespace peakmark {

class Registry;

/// `fbp/whole`, `fbp/inplace` and `fbp/kept`: sinograms (n_z, n_a, w) → slices (n_z, h, w), each by a
/// Reconstructor.
void add_fbp(Registry& registry);

}  // namespace peakmark
