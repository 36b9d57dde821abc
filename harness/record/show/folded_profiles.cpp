#include "record/show/folded_profiles.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "base/files.hpp"
#include "record/profile/profile_files.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kFoldedVersion = 1;

/// The beginning of the file. The entries of all processes follow, then their events.
struct FoldedHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t processes;
};

struct FoldedEntry {
  std::int64_t pid;
  std::int64_t start_monotonic_ns;
  std::uint64_t slots;
  std::uint64_t events;
};

/// Closes the file in its destructor.
class FoldedFile {
 public:
  explicit FoldedFile(int descriptor) : descriptor_(descriptor) {}
  FoldedFile(const FoldedFile&) = delete;
  FoldedFile& operator=(const FoldedFile&) = delete;
  ~FoldedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

  [[nodiscard]] std::uint64_t bytes() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }
  [[nodiscard]] bool read(void* into, std::size_t bytes) const {
    auto* at = static_cast<char*>(into);
    while (bytes > 0) {
      const ssize_t got = ::read(descriptor_, at, bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }
  [[nodiscard]] bool write(const void* from, std::size_t bytes) const {
    const auto* at = static_cast<const char*>(from);
    while (bytes > 0) {
      const ssize_t put = ::write(descriptor_, at, bytes);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return false;
      at += put;
      bytes -= static_cast<std::size_t>(put);
    }
    return true;
  }
  [[nodiscard]] bool write(const std::vector<Event>& events) const {
    return write(events.data(), events.size() * sizeof(Event));
  }

 private:
  int descriptor_;
};

bool write_all(const FoldedFile& file, const FoldedProfiles& folded) {
  FoldedHeader header{{}, kFoldedVersion, static_cast<std::uint32_t>(folded.processes.size())};
  std::memcpy(header.magic, kFoldedMagic.data(), sizeof(header.magic));
  if (!file.write(&header, sizeof(header))) return false;
  for (const FoldedProcess& process : folded.processes) {
    const FoldedEntry entry{process.pid, process.start_monotonic_ns, process.slots, process.events.size()};
    if (!file.write(&entry, sizeof(entry))) return false;
  }
  return std::ranges::all_of(folded.processes,
                             [&](const FoldedProcess& process) { return file.write(process.events); });
}

}  // namespace

const FoldedProcess* find_folded(const FoldedProfiles& folded, const ProfileHeader& header) {
  const auto found = std::ranges::find_if(folded.processes, [&](const FoldedProcess& one) {
    return one.pid == header.pid && one.start_monotonic_ns == header.start_monotonic_ns;
  });
  return found == folded.processes.end() ? nullptr : &*found;
}

std::optional<FoldedProfiles> read_folded(const fs::path& path) {
  if (!non_file_kind(path).empty()) {
    throw UsageError(fmt::format("{}: not a file of folded events", path.string()));
  }
  const FoldedFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    if (errno == ENOENT) return std::nullopt;
    throw io_error(path, "cannot be opened", errno);
  }
  const auto check = [&](bool is_right) {
    if (!is_right) {
      throw UsageError(
          fmt::format("{}: not a file of folded events, or cut short; copy it again", path.string()));
    }
  };
  FoldedHeader header{};
  check(file.read(&header, sizeof(header)) &&
        std::string_view(header.magic, sizeof(header.magic)) == kFoldedMagic);
  if (header.version != kFoldedVersion) {
    throw UsageError(
        fmt::format("{}: folded events of version {}; this peakmark reads version {}: use the peakmark that "
                    "recorded it",
                    path.string(), header.version, kFoldedVersion));
  }
  // The counts must not exceed the size of the file, so that a damaged file does not allocate too much
  // memory.
  const std::uint64_t bytes = file.bytes();
  check(header.processes <= bytes / sizeof(FoldedEntry));
  std::vector<FoldedEntry> entries(header.processes);
  check(file.read(entries.data(), entries.size() * sizeof(FoldedEntry)));
  const auto read_events = [&](std::uint64_t count) {
    check(count <= bytes / sizeof(Event));
    std::vector<Event> events(count);
    check(file.read(events.data(), count * sizeof(Event)));
    return events;
  };
  FoldedProfiles folded;
  for (const FoldedEntry& entry : entries) {
    folded.processes.push_back({static_cast<std::int32_t>(entry.pid), entry.start_monotonic_ns, entry.slots,
                                read_events(entry.events)});
  }
  return folded;
}

namespace {

/// Writes and renames as write_folded() does; returns 0 or the errno.
int write_new(const fs::path& path, const std::function<bool(const FoldedFile&)>& write,
              const std::function<void()>& before_rename) {
  NewFile written = create_file_beside(path);
  if (written.error != 0) return written.error;
  const FoldedFile file(written.descriptor.release());
  int error = write(file) ? 0 : errno;
  if (error == 0) {
    before_rename();
    if (::rename(written.path.c_str(), path.c_str()) != 0) error = errno;
  }
  if (error != 0) ::unlink(written.path.c_str());
  return error;
}

}  // namespace

int write_folded(const FoldedProfiles& folded, const fs::path& path,
                 const std::function<void()>& before_rename) {
  return write_new(
      path, [&](const FoldedFile& file) { return write_all(file, folded); }, before_rename);
}

int replace_profile(const fs::path& path, const FoldedProcess& folded,
                    const std::function<void()>& before_rename) {
  ProfileReader reader(path);
  reader.skip(folded.slots);
  const std::vector<Event> later = reader.events();
  ProfileHeader header = reader.header();
  std::vector<Event> events = folded.events;
  for (Event event : later) {
    // A slot that was never written stays empty.
    events.resize(folded.events.size() + event.commit - folded.slots - 1);
    event.commit = events.size() + 1;
    events.push_back(event);
  }
  if (header.closed == 1) {
    header.end = folded.events.size() + header.end - std::min(header.end, folded.slots);
    events.resize(header.end);
  }
  return write_new(
      path, [&](const FoldedFile& file) { return file.write(&header, sizeof(header)) && file.write(events); },
      before_rename);
}

}  // namespace peakmark
