#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

/// Whether `pattern`, in which `*` stands for any text, the empty one too, is the whole of `text`.
bool matches_pattern(std::string_view pattern, std::string_view text);

/// The variant of `names` that `name` means: itself, or the only one that ends with `/name` or `.name`, as
/// `2023.2.0` does for `nabu_padding/2023.2.0`. Empty where there is none. UsageError where several end so,
/// which it lists.
std::string variant_meant_by(const std::string& name, const std::vector<std::string>& names);

/// The end of an error message about a pattern that matches none of `names`: as `suggest_word`, and for a
/// mistake before the first or after the last `*` the nearest pattern that matches one, `padding/*`.
std::string suggest_pattern(std::string_view pattern, const std::vector<std::string>& names);

}  // namespace peakmark
