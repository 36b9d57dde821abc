#include "cli/output_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/files.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

/// 0, or the errno that stopped it.
int write_into(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  write(file);
  file.close();
  if (!file.fail()) return 0;
  return errno != 0 ? errno : EIO;
}

}  // namespace

void write_output_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  const auto check = [&](int error) {
    if (error != 0) throw io_error(path, "cannot be written", error);
  };
  const std::string_view kind = non_file_kind(path);
  if (!kind.empty() && kind != "a folder") return check(write_into(path, write));
  check_replaceable(path);
  const fs::path target = fs::is_symlink(path) ? fs::weakly_canonical(path) : path;
  const NewFile beside = create_file_beside(target);
  int error = beside.error != 0 ? beside.error : write_into(beside.path, write);
  if (error == 0 && ::rename(beside.path.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0 && beside.error == 0) ::unlink(beside.path.c_str());
  // A file mounted by itself, or one in a folder of somebody else's.
  const bool only_in_place = error == EBUSY || error == EACCES || error == EPERM || error == EROFS;
  if (only_in_place && fs::exists(target)) error = write_into(target, write);
  check(error);
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
    // A file mounted by itself, or one in a folder of somebody else's.
    if (::truncate(target.c_str(), 0) == 0) continue;
    throw io_error(output, "the file of an earlier command cannot be removed", errno, "name another file");
  }
}

void write_output_file(const fs::path& path, const std::string& text) {
  write_output_file(path, [&](std::ostream& out) { out << text; });
}

}  // namespace peakmark::cli
