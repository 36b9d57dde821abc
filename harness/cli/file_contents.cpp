#include "cli/file_contents.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/files.hpp"
#include "profile/profile.hpp"
#include "runfile/run_file.hpp"

namespace peakmark::cli {

FileContents contents_of(const std::filesystem::path& path) {
  if (const std::string_view kind = non_file_kind(path); !kind.empty()) {
    throw UsageError(
        fmt::format("{}: is {}, neither a profile nor a run file; name a file", path.string(), kind));
  }
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return std::filesystem::exists(partial_of(path), error) ? FileContents::run : FileContents::profile;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw io_error(path, "cannot be opened", errno);
  std::string start(sizeof(ProfileHeader::kMagic), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  if (file && std::memcmp(start.data(), ProfileHeader::kMagic, start.size()) == 0)
    return FileContents::profile;
  file.clear();
  file.seekg(0);
  char sign = '\0';
  if (file >> sign && sign == '{') return FileContents::run;
  throw UsageError(fmt::format("{}: is neither a profile nor a run file of peakmark{}", path.string(),
                               sign == '\0' ? ": it is empty" : ""));
}

}  // namespace peakmark::cli
