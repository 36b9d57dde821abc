#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

/// Typing mistakes between two words: letters put in, left out, replaced, or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate that was most likely meant, or an empty view when none is near. `coords1d` is near
/// `padding/coords1d`; upper and lower case are one.
std::string_view nearest_word(std::string_view word, const std::vector<std::string>& candidates);
std::string_view nearest_word(std::string_view word, std::vector<std::string>&& candidates) = delete;

/// The end of an error message about an unknown word: `; did you mean 'edge'? (known: constant, edge, …)`.
std::string suggest_word(std::string_view word, const std::vector<std::string>& candidates);
/// The same where what may be suggested is not what is listed.
std::string suggest_word(std::string_view word, const std::vector<std::string>& candidates,
                         const std::vector<std::string>& known);

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
