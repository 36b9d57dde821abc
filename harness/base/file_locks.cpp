#include "base/file_locks.hpp"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "base/files.hpp"

namespace peakmark {
namespace {

// From <linux/magic.h>, and for file systems outside the kernel from the manual page of statfs(2) and their
// sources.
constexpr std::array<std::pair<std::uint64_t, const char*>, 9> kSharedFileSystems{{
    {0x6969, "nfs"},
    {0x517B, "smb"},
    {0xFF534D42, "smb"},
    {0xFE534D42, "smb"},
    {0x0BD00BD0, "lustre"},
    {0x47504653, "gpfs"},
    {0x00C36400, "ceph"},
    {0x19830326, "beegfs"},
    {0x5346414F, "afs"},
}};

/// Tries to take a lock that belongs to the descriptor, not to the process.
bool try_lock(int descriptor) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

std::string shared_file_system_name(std::uint64_t magic) {
  for (const auto& [number, name] : kSharedFileSystems) {
    if (number == magic) return name;
  }
  return "";
}

std::string shared_file_system(const std::filesystem::path& path) {
  std::error_code none;
  const std::filesystem::path whole = std::filesystem::absolute(path, none);
  for (const std::filesystem::path& place : {whole, whole.parent_path()}) {
    struct statfs status {};
    if (::statfs(place.c_str(), &status) != 0) continue;
    // Some numbers have the highest bit set, and the field is signed.
    return shared_file_system_name(static_cast<std::uint32_t>(status.f_type));
  }
  return "";
}

bool locks_exclude(const std::filesystem::path& folder) {
  const NewFile file = create_file_beside(folder / "peakmark-locks");
  if (file.descriptor.get() < 0) return true;
  const Descriptor second(::open(file.path.c_str(), O_RDWR | O_CLOEXEC));
  const bool has_first = try_lock(file.descriptor.get());
  const bool has_second = second.get() >= 0 && try_lock(second.get());
  ::unlink(file.path.c_str());
  return has_first && !has_second;
}

}  // namespace peakmark
