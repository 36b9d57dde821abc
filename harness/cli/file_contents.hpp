#pragma once

#include <cstdint>
#include <filesystem>

namespace peakmark::cli {

enum class FileContents : std::uint8_t {
  profile,  ///< also where nothing is: the profiles of further processes may stand beside it
  run,      ///< JSON, and a run file that is there in part: who reads it says whether it is a run
};

/// By its first bytes. UsageError for what is neither, and for what is no file: a pipe would be waited for.
FileContents contents_of(const std::filesystem::path& path);

}  // namespace peakmark::cli
