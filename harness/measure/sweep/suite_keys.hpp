#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

/// Returns the JSON schema of suites (suites/suite.schema.json). It is the only list of the keys of a suite
/// and of their closed sets of words: editors use it for completion and checks, and the readers accept no
/// other key.
std::string_view suite_schema();

/// Returns the keys of a table, or the words of a closed set, by its name in the schema's definitions:
/// `sweep`, `dtype_name`. `axis`: the keys of an axis that is a table. `suite`: the keys of the file.
const std::vector<std::string>& suite_words(std::string_view name);

}  // namespace peakmark
