#pragma once

#include <string_view>

namespace peakmark {

/// The text of kernel_language.h.
std::string_view kernel_language_text();

}  // namespace peakmark
