#pragma once

#include <string_view>

namespace peakmark {

/// Throws UsageError unless the name of a metric is an identifier (a letter or _, then letters, digits and _)
/// that no figure of peakmark's own tables and files has.
void check_metric_name(std::string_view name);

}  // namespace peakmark
