#pragma once

#include <string>
#include <string_view>

namespace peakmark {

/// Returns the name of a function as people write it, from a symbol of a linker or its demangled text:
/// `plan::Filter::make` of `void plan::Filter<float>::make(int) const`. Leaves out return types, parameters,
/// template arguments and anonymous namespaces; shortens names of more than 80 characters in the middle.
std::string readable_function(const std::string& symbol);

}  // namespace peakmark
