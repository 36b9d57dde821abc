#include "run/device_lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "run/descriptor.hpp"
#include "run/scratch_folder.hpp"

namespace peakmark {
namespace {

std::filesystem::path path_of(const DeviceInfo& device) {
  std::string name =
      "peakmark-" + std::string(name_of(device.backend)) + "-" + std::to_string(device.index) + "-";
  for (const char letter : device.name) {
    name += std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  }
  return temporary_files_folder() / (name + ".lock");
}

/// A file of another user in a sticky folder may not be opened to create it, nor to write
/// (fs.protected_regular): so an existing one is opened for reading, which is enough for flock.
int open_lock(const std::filesystem::path& path) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 || errno != ENOENT) return descriptor;
    descriptor = ::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor >= 0 || errno != EEXIST) {
      if (descriptor >= 0) ::fchmod(descriptor, 0644);
      return descriptor;
    }
  }
  return -1;
}

}  // namespace

DeviceLock::DeviceLock(const DeviceInfo& device, const std::function<void(const std::string&)>& waiting,
                       const std::function<void()>& still_wanted) {
  if (device.backend == Backend::dry) return;
  const std::filesystem::path path = path_of(device);
  const auto fail = [&path] {
    throw UsageError(path.string() + ": cannot lock the device: " + std::strerror(errno));
  };
  const Descriptor lock(open_lock(path));
  if (lock.get() < 0) fail();
  bool told = false;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail();
    if (!told) waiting(path.string());
    told = true;
    // The system does not tell when a lock is free, but to a thread that blocks for it.
    ::poll(nullptr, 0, 200);
    still_wanted();
  }
  descriptor_ = ::fcntl(lock.get(), F_DUPFD_CLOEXEC, 0);  // of the same lock
  if (descriptor_ < 0) fail();
}

DeviceLock::~DeviceLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace peakmark
