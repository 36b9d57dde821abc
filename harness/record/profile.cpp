#include "record/profile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace peakmark {

struct ProfileReader::File {
  std::filesystem::path path;
  int descriptor = -1;
  ProfileHeader header{};

  explicit File(std::filesystem::path p) : path(std::move(p)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }

  /// Bytes read: fewer than asked at the end of the file.
  std::size_t read(void* into, std::size_t bytes, std::uint64_t offset) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::pread(descriptor, static_cast<char*>(into) + done, bytes - done,
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        throw UsageError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno)));
      }
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  void read_header() {
    const std::size_t bytes = read(&header, sizeof(header), 0);
    if (bytes < sizeof(header.magic) || std::memcmp(header.magic, ProfileHeader::kMagic, 8) != 0) {
      throw UsageError(fmt::format("{}: is no profile of peakmark", path.string()));
    }
    if (bytes < sizeof(header)) {
      throw UsageError(fmt::format("{}: cut short inside its header; record it again", path.string()));
    }
    if (header.version != ProfileHeader::kVersion || header.header_bytes != ProfileHeader::kBytes) {
      throw UsageError(fmt::format("{}: a profile of version {}; this peakmark reads version {}",
                                   path.string(), header.version, ProfileHeader::kVersion));
    }
  }
};

ProfileReader::ProfileReader(const std::filesystem::path& path) : file_(std::make_unique<File>(path)) {
  file_->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_->descriptor < 0) {
    throw UsageError(fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno)));
  }
  file_->read_header();
}

ProfileReader::~ProfileReader() = default;
ProfileReader::ProfileReader(ProfileReader&&) noexcept = default;
ProfileReader& ProfileReader::operator=(ProfileReader&&) noexcept = default;

const ProfileHeader& ProfileReader::header() const {
  return file_->header;
}

std::vector<std::string> ProfileReader::command_line() const {
  const char* text = file_->header.command_line;
  const char* const limit = text + sizeof(file_->header.command_line);
  std::vector<std::string> arguments;
  // What follows the last argument is padding.
  const char* last = limit;
  while (last > text && last[-1] == '\0') --last;
  while (text < last) {
    const char* const end = std::find(text, limit, '\0');
    arguments.emplace_back(text, end);
    text = end + 1;
  }
  return arguments;
}

bool ProfileReader::complete() const {
  return file_->header.closed == 1 && file_->header.lost == 0;
}

std::vector<Event> ProfileReader::events(std::uint64_t first, std::uint64_t last) {
  constexpr std::uint64_t kChunk = 16384;
  file_->read_header();
  if (file_->header.closed == 1) last = std::min(last, file_->header.end);
  std::vector<Event> events;
  std::vector<Event> chunk;
  std::vector<std::uint64_t> seen;
  const auto read = [&](std::uint64_t slot, std::uint64_t slots) {
    chunk.resize(slots);
    const auto bytes =
        file_->read(chunk.data(), slots * sizeof(Event), ProfileHeader::kBytes + slot * sizeof(Event));
    chunk.resize(bytes / sizeof(Event));
  };
  while (first < last) {
    const std::uint64_t asked = std::min(kChunk, last - first);
    read(first, asked);
    if (file_->header.closed == 0) {
      // A slot may be in the making while it is copied. One whose commit was there before the copy began is
      // whole: so look first, then copy.
      seen.clear();
      for (const Event& event : chunk) seen.push_back(event.commit);
      read(first, seen.size());
      for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i].commit = seen[i];
    }
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      if (chunk[i].commit == first + i + 1) events.push_back(chunk[i]);
    }
    if (chunk.size() < asked) break;
    first += asked;
  }
  return events;
}

}  // namespace peakmark
