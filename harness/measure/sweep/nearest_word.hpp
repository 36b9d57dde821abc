#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

/// Returns the number of typing errors between two words: letters added, removed, replaced, or swapped.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidate that was probably meant; empty if none is near. `coords1d` is near
/// `padding/coords1d`; case is ignored.
std::string_view nearest_word(std::string_view word, const std::vector<std::string>& candidates);
std::string_view nearest_word(std::string_view word, std::vector<std::string>&& candidates) = delete;

/// Returns the end of an error message about an unknown word: `; did you mean 'edge'? (known: constant, edge,
/// …)`.
std::string suggest_word(std::string_view word, const std::vector<std::string>& candidates);
/// Suggests from `candidates` and lists `known`.
std::string suggest_word(std::string_view word, const std::vector<std::string>& candidates,
                         const std::vector<std::string>& known);

/// Returns true if `pattern` matches the whole `text`; `*` matches any text, including an empty one.
bool matches_pattern(std::string_view pattern, std::string_view text);

/// Returns the variant in `names` that `name` means: itself, or the only one that ends with `/name` or
/// `.name`, such as `nabu_padding/2023.2.0` for `2023.2.0`. Empty if there is none. Throws UsageError if
/// there are several.
std::string variant_meant_by(const std::string& name, const std::vector<std::string>& names);

/// Returns the end of an error message about a pattern that matches none of `names`: like suggest_word(), or
/// the nearest pattern that matches one, `padding/*`.
std::string suggest_pattern(std::string_view pattern, const std::vector<std::string>& names);

}  // namespace peakmark
