#pragma once

#include <string>

namespace peakmark {

/// `PoCL cannot write its cache folder …: set POCL_CACHE_DIR to a folder that can be written` where that is
/// so, else empty. PoCL compiles into this folder, and says nothing of it when it cannot. Its place:
/// POCL_CACHE_DIR, else XDG_CACHE_HOME/pocl/kcache, else HOME/.cache/pocl/kcache, as PoCL's documentation of
/// its environment variables has it (https://portablecl.org/docs/html/env_variables.html).
std::string pocl_cache_error();

}  // namespace peakmark
