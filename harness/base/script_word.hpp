#pragma once

#include <string>
#include <string_view>

namespace peakmark {

/// Returns all bytes of `text` as one word for a POSIX shell, quoted if necessary. For scripts. Never use it
/// inside other quotes or in a comment. For messages there is shell_word().
std::string script_word(std::string_view text);

}  // namespace peakmark
