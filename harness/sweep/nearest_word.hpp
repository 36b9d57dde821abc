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

}  // namespace peakmark
