#pragma once

namespace peakmark {

class Registry;

/// `filter/whole` and `filter/inplace`.
void add_filter(Registry& registry);

}  // namespace peakmark
