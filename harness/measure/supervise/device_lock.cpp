#include "measure/supervise/device_lock.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::string as_file_name(std::string text) {
  for (char& letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return text;
}

bool is_own_folder(const fs::path& folder, mode_t closed) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & closed) == 0;
}

/// Returns the text of the holder in the file: its process, when it took the lock, and what it measures.
/// Empty while the text is incomplete.
std::string holder_in(int lock) {
  std::array<char, 4096> text{};
  const ssize_t got = ::pread(lock, text.data(), text.size(), 0);
  const std::string_view all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (all.empty() || all.back() != '\n') return {};
  return std::string(all.substr(0, all.size() - 1));
}

void write_holder(int lock, const std::string& suite) {
  constexpr std::size_t kMaxSuiteBytes = 1000;
  const std::string text =
      fmt::format("process {} measures {} on it since {:%Y-%m-%d %H:%M:%S} UTC\n", ::getpid(),
                  peakmark::one_line(shortened(suite, kMaxSuiteBytes)), fmt::gmtime(std::time(nullptr)));
  // Waiting also works without the text.
  if (::ftruncate(lock, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(lock, text.data(), text.size(), 0);
}

bool needs_no_lock(const DeviceInfo& device, const DeviceLockOptions& options) {
  return device.backend == Backend::dry || (device.is_cpu && options.memory_only);
}

}  // namespace

std::string lock_name(const DeviceInfo& device) {
  if (device.is_cpu) return "cpu";
  if (!device.pci.empty()) return "pci-" + as_file_name(device.pci);
  return fmt::format("{}-{}-{}-{}", to_string(device.backend), as_file_name(device.platform), device.index,
                     as_file_name(device.name));
}

fs::path lock_folder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  const bool has_runtime =
      runtime != nullptr && runtime[0] == '/' && is_own_folder(runtime, S_IWGRP | S_IWOTH);
  fs::path folder = has_runtime ? fs::path(runtime) / "peakmark"
                                : temporary_files_folder() / ("peakmark-" + std::to_string(::geteuid()));
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw io_error(folder, "cannot be created for device locks", errno);
  if (is_own_folder(folder, S_IRWXG | S_IRWXO)) return folder;
  throw EnvironmentError(
      folder.string() +
      ": other users have access to this folder, so device locks in it are not safe; remove it, "
      "or set XDG_RUNTIME_DIR or TMPDIR to another folder");
}

DeviceLock::DeviceLock(const DeviceInfo& device, const DeviceLockOptions& options,
                       const std::function<void(const std::string&)>& waiting,
                       const std::function<void()>& still_wanted) {
  if (needs_no_lock(device, options)) return;
  const fs::path path = lock_folder() / (lock_name(device) + ".lock");
  const auto fail = [&path] { throw io_error(path, "cannot lock the device", errno); };
  const Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (lock.get() < 0) fail();
  std::string said;
  for (int attempt = 0; ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail();
    // A new holder of the lock may not have written its text yet.
    const std::string holder = holder_in(lock.get());
    if (const bool is_named = !holder.empty(); is_named || attempt > 0) {
      const std::string text =
          (is_named ? holder : "another run measures on it") + " (" + path.string() + ")";
      if (options.no_wait)
        throw DeviceError("the device is in use: " + text + "; leave out --no-wait to wait for it");
      if (text != said) waiting(text);
      said = text;
    }
    // The lock is polled, because the system wakes only a thread that blocks in flock().
    ::poll(nullptr, 0, 200);
    still_wanted();
  }
  write_holder(lock.get(), options.suite);
  descriptor_ = ::fcntl(lock.get(), F_DUPFD_CLOEXEC, 0);  // a descriptor of the same lock
  if (descriptor_ < 0) fail();
}

DeviceLock::~DeviceLock() {
  if (descriptor_ < 0) return;
  [[maybe_unused]] const int emptied = ::ftruncate(descriptor_, 0);
  ::close(descriptor_);
}

}  // namespace peakmark
