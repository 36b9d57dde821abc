#include "record/profile/profile.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace peakmark {

struct ProfileReader::File {
  std::filesystem::path path;
  int descriptor = -1;
  ProfileHeader header{};
  std::uint64_t skipped = 0;           ///< slots whose events are in another file
  std::optional<std::uint64_t> holes;  ///< known once a closed profile was read, because it no longer changes

  explicit File(std::filesystem::path p) : path(std::move(p)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }

  /// Returns the number of bytes read, which is smaller than `bytes` only at the end of the file.
  std::size_t read(void* into, std::size_t bytes, std::uint64_t offset) const {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::pread(descriptor, static_cast<char*>(into) + done, bytes - done,
                                  static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        throw io_error(path, "cannot be read", errno);
      }
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  /// Maps the slots [0, end). Returns an empty block if that fails.
  [[nodiscard]] EventBlock map(std::uint64_t end) const {
    struct stat status {};
    const std::uint64_t bytes = ProfileHeader::kBytes + end * sizeof(Event);
    if (::fstat(descriptor, &status) != 0 || static_cast<std::uint64_t>(status.st_size) < bytes) return {};
    void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    if (memory == MAP_FAILED) return {};
    const std::shared_ptr<const void> owner(memory, [bytes](void* from) { ::munmap(from, bytes); });
    const auto* const slots =
        reinterpret_cast<const Event*>(static_cast<const char*>(memory) + ProfileHeader::kBytes);
    return {owner, std::span(slots, end)};
  }

  /// Returns the number of whole slots in the file.
  [[nodiscard]] std::uint64_t slots() const {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || status.st_size <= ProfileHeader::kBytes) return 0;
    return (static_cast<std::uint64_t>(status.st_size) - ProfileHeader::kBytes) / sizeof(Event);
  }

  /// Returns the number of slots without an event before the end. An open profile ends at its last event.
  std::uint64_t count_holes() {
    constexpr std::uint64_t kChunk = 16384;
    const bool is_closed = header.closed == 1;
    std::uint64_t events = skipped;
    std::uint64_t end = skipped;
    std::vector<Event> chunk;
    for (std::uint64_t first = skipped;; first += kChunk) {
      chunk.resize(is_closed ? std::min(kChunk, header.end - std::min(header.end, first)) : kChunk);
      const std::size_t asked = chunk.size();
      chunk.resize(read(chunk.data(), asked * sizeof(Event), ProfileHeader::kBytes + first * sizeof(Event)) /
                   sizeof(Event));
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        if (chunk[i].commit != first + i + 1) continue;
        ++events;
        end = first + i + 1;
      }
      if (chunk.empty() || chunk.size() < asked) break;
    }
    return (is_closed ? std::max(header.end, skipped) : end) - events;
  }

  /// Reserves memory for the slots [first, last) of the file, because growing step by step would copy each
  /// event twice.
  void reserve(std::vector<Event>& events, std::uint64_t first, std::uint64_t last) const {
    last = std::min(last, slots());
    if (first < last) events.reserve(last - first);
  }

  void read_header() {
    const std::size_t bytes = read(&header, sizeof(header), 0);
    if (bytes < sizeof(header.magic) || std::memcmp(header.magic, ProfileHeader::kMagic, 8) != 0) {
      throw UsageError(fmt::format("{}: not a profile of peakmark", path.string()));
    }
    if (bytes < sizeof(header)) {
      throw UsageError(fmt::format("{}: cut short inside its header; record it again", path.string()));
    }
    if (header.version != ProfileHeader::kVersion || header.header_bytes != ProfileHeader::kBytes) {
      throw UsageError(
          fmt::format("{}: a profile of version {}; this peakmark reads version {}: record again, or use the "
                      "peakmark that recorded it",
                      path.string(), header.version, ProfileHeader::kVersion));
    }
  }
};

EventBlock::EventBlock(std::vector<Event> events) {
  const auto owner = std::make_shared<const std::vector<Event>>(std::move(events));
  events_ = *owner;
  owner_ = owner;
}

ProfileReader::ProfileReader(const std::filesystem::path& path) : file_(std::make_unique<File>(path)) {
  if (const std::string_view kind = non_file_kind(path); !kind.empty()) {
    throw UsageError(fmt::format("{}: is {}, not a profile of peakmark", path.string(), kind));
  }
  file_->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_->descriptor < 0) {
    throw io_error(path, "cannot be opened", errno);
  }
  file_->read_header();
}

ProfileReader::~ProfileReader() = default;
ProfileReader::ProfileReader(ProfileReader&&) noexcept = default;
ProfileReader& ProfileReader::operator=(ProfileReader&&) noexcept = default;

void ProfileReader::skip(std::uint64_t slots) {
  file_->skipped = slots;
  file_->holes.reset();
}

const std::filesystem::path& ProfileReader::path() const {
  return file_->path;
}

const ProfileHeader& ProfileReader::header() const {
  return file_->header;
}

const ProfileHeader& ProfileReader::read_header() {
  file_->read_header();
  return file_->header;
}

std::vector<std::string> ProfileReader::command_line() const {
  const char* text = file_->header.command_line;
  const char* const limit = text + sizeof(file_->header.command_line);
  std::vector<std::string> arguments;
  // After the last argument there is padding.
  const char* last = limit;
  while (last > text && last[-1] == '\0') --last;
  while (text < last) {
    const char* const end = std::find(text, limit, '\0');
    arguments.emplace_back(text, end);
    text = end + 1;
  }
  return arguments;
}

bool ProfileReader::complete() {
  return file_->header.closed == 1 && lost_events() == 0;
}

std::uint64_t ProfileReader::lost_events() {
  if (file_->holes) return file_->header.lost + *file_->holes;
  file_->read_header();
  const std::uint64_t holes = file_->count_holes();
  if (file_->header.closed == 1) file_->holes = holes;
  return file_->header.lost + holes;
}

bool ProfileReader::cut_short() const {
  return file_->header.closed == 1 && std::max(file_->slots(), file_->skipped) < file_->header.end;
}

std::vector<Event> ProfileReader::events(std::uint64_t first, std::uint64_t last) {
  constexpr std::uint64_t kChunk = 16384;
  file_->read_header();
  first = std::max(first, file_->skipped);
  if (file_->header.closed == 1) last = std::min(last, file_->header.end);
  std::vector<Event> events;
  file_->reserve(events, first, last);
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
      // Another thread may write a slot while it is copied. A slot is whole if its commit was there before
      // the copy began. So the commits are read first.
      seen.clear();
      for (const Event& event : chunk) seen.push_back(event.commit);
      read(first, seen.size());
      for (std::size_t i = 0; i < chunk.size(); ++i) chunk[i].commit = seen[i];
    }
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      if (chunk[i].commit != first + i + 1) continue;
      // Adjacent events are copied together.
      const std::size_t from = i;
      while (i + 1 < chunk.size() && chunk[i + 1].commit == first + i + 2) ++i;
      events.insert(events.end(), chunk.begin() + static_cast<std::ptrdiff_t>(from),
                    chunk.begin() + static_cast<std::ptrdiff_t>(i + 1));
    }
    if (chunk.size() < asked) break;
    first += asked;
  }
  return events;
}

std::vector<Event> ProfileReader::events_given_out(std::uint64_t first, std::uint64_t last) {
  // A thread writes its slot within a microsecond, unless it is stopped in between.
  constexpr std::chrono::seconds kPatience{10};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    std::vector<Event> found = events(first, last);
    const ProfileHeader& header = file_->header;
    if (header.lost > 0) {
      throw RecorderError(fmt::format("{}: the recording stopped early, {} lost: {}; {}",
                                      file_->path.string(), quantity(header.lost, "event is", "events are"),
                                      stop_reason(header.stop_error), stop_advice(header.stop_error)));
    }
    if (found.size() >= last - std::min(first, last)) return found;
    if (std::chrono::steady_clock::now() > deadline) {
      throw RecorderError(fmt::format("{}: {} missing: a thread stopped while it wrote them",
                                      file_->path.string(),
                                      quantity(last - first - found.size(), "event is", "events are")));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

EventBlock ProfileReader::all_events() {
  file_->read_header();
  const ProfileHeader& header = file_->header;
  if (file_->skipped > 0 || header.closed != 1 || header.end > UINT64_MAX / sizeof(Event) - 1)
    return events();
  EventBlock block = file_->map(header.end);
  // If a thread reserved a slot and never wrote it, the events are copied without this slot.
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (block[i].commit != i + 1) return events();
  }
  if (block.size() != header.end) return events();
  file_->holes = 0;
  return block;
}

}  // namespace peakmark
