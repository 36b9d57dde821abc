#include "cli/input_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "base/files.hpp"
#include "measure/runfile/run_file.hpp"
#include "record/profile/profile.hpp"
#include "record/profile/profile_files.hpp"

namespace peakmark::cli {

namespace fs = std::filesystem;

namespace {

/// The errno of the first failed write; 0 if it is unknown. The last flush alone does not report it, because
/// the lost part may be in an earlier buffer.
std::optional<int> first_error;

void note_error() {
  if (!first_error) first_error = errno;
}

const char* advice(int error) {
  switch (error) {
    case EPIPE:
      return "the program that reads it ended before all was written";
    case EBADF:
      return "it is closed, or open for reading only";
    default:
      return "free space, or redirect it";
  }
}

/// Returns 0, or the errno of the failure.
int write_into(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  write(file);
  file.close();
  if (!file.fail()) return 0;
  return errno != 0 ? errno : EIO;
}

}  // namespace

void print_text(std::string_view text) {
  // A text that JSON quotes may be a command in the log of a CI system. The escape does not change the JSON;
  // CSV and emitted code have no such escape.
  const bool is_json = text.starts_with('{') || text.starts_with('[');
  if (is_json &&
      (text.find("##[") != std::string_view::npos || text.find("##vso[") != std::string_view::npos))
    return print_text(without_log_commands(std::string(text), "\\u0023"));
  errno = 0;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!is_written || std::fflush(stdout) != 0) note_error();
}

void check_output() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) note_error();
  if (!first_error) return;
  constexpr const char* kWhat = "standard output could not be written";
  if (*first_error == 0) throw IoError(std::string(kWhat) + "; " + advice(0));
  throw io_error("", kWhat, *first_error, advice(*first_error));
}

void write_output_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  const auto check = [&](int error) {
    if (error != 0) throw io_error(path, "cannot be written", error);
  };
  const std::string_view kind = non_file_kind(path);
  if (!kind.empty() && kind != "a folder") return check(write_into(path, write));
  check_replaceable(path);
  const fs::path target = fs::is_symlink(path) ? fs::weakly_canonical(path) : path;
  const NewFile beside = create_file_beside(target);
  int error = beside.error;
  try {
    if (error == 0) error = write_into(beside.path, write);
  } catch (...) {
    ::unlink(beside.path.c_str());
    throw;
  }
  if (error == 0 && ::rename(beside.path.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0 && beside.error == 0) ::unlink(beside.path.c_str());
  // If the file is mounted, or in another user's folder, only its contents can be replaced.
  const bool only_in_place = error == EBUSY || error == EACCES || error == EPERM || error == EROFS;
  if (only_in_place && fs::exists(target)) error = write_into(target, write);
  check(error);
}

void write_output_file(const fs::path& path, const std::string& text) {
  write_output_file(path, [&](std::ostream& out) { out << text; });
}

void remove_earlier_outputs(const std::vector<fs::path>& outputs, const std::vector<fs::path>& inputs) {
  for (const fs::path& output : outputs) {
    std::error_code error;
    if (output.empty() || !fs::is_regular_file(output, error) || fs::file_size(output, error) == 0) continue;
    const bool is_input = std::ranges::any_of(inputs, [&](const fs::path& input) {
      std::error_code none;
      return fs::equivalent(input, output, none);
    });
    if (is_input) continue;
    const fs::path target = fs::is_symlink(output, error) ? fs::weakly_canonical(output, error) : output;
    if (::unlink(target.c_str()) == 0) continue;
    if (::truncate(target.c_str(), 0) == 0) continue;  // a mounted file, or one in another user's folder
    throw io_error(output, "cannot remove the file of an earlier command", errno, "name another file");
  }
}

FileContents contents(const fs::path& path) {
  if (const std::string_view kind = non_file_kind(path); !kind.empty()) {
    throw UsageError(
        fmt::format("{}: is {}, neither a profile nor a run file; name a file", path.string(), kind));
  }
  std::error_code error;
  if (!fs::exists(path, error)) {
    return fs::exists(partial_of(path), error) ? FileContents::run : FileContents::profile;
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

bool is_profile(const fs::path& path) {
  return contents(path) == FileContents::profile && (fs::exists(path) || !profiles_beside(path).empty());
}

}  // namespace peakmark::cli
