#include "record/launch/profile_folding.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <system_error>

#include "base/error.hpp"
#include "record/ledger/ledger.hpp"
#include "record/profile/profile_files.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxSlotsAPass = std::uint64_t{1} << 20U;
constexpr std::uint64_t kExtentBytes = std::uint64_t{1} << 20U;  // size by which a profile grows

std::int64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::uint64_t bytes_of_slots(std::uint64_t slots) {
  return ProfileHeader::kBytes + slots * sizeof(Event);
}

/// Returns how many of the first `count` events remain without a last text whose continuations are not all
/// among them.
std::size_t without_cut_text(std::span<const Event> events, std::size_t count) {
  std::size_t head = count;
  while (head > 0 && events[head - 1].type == EventType::text) --head;
  if (head == 0) return count;
  --head;
  const std::size_t slots =
      std::max<std::size_t>(1, (events[head].text_bytes + sizeof(Event::text) - 1) / sizeof(Event::text));
  return has_text(events[head].type) && head + slots > count ? head : count;
}

bool has_end(const ProfileHeader& header) {
  return header.closed == 1 || header.end_monotonic_ns != 0;
}

/// Events that a process has written and that are not folded yet.
struct NewEvents {
  std::vector<Event> events;
  bool is_all = true;  ///< the profile has no further events
};

NewEvents new_events(ProfileReader& reader, std::uint64_t first) {
  NewEvents found{reader.events(first, first + kMaxSlotsAPass)};
  std::vector<Event>& events = found.events;
  if (!events.empty() && events.back().commit >= first + kMaxSlotsAPass) found.is_all = false;
  // Events after a slot that is not written yet are not read.
  const auto gap = std::ranges::find_if(
      events, [next = first](const Event& event) mutable { return event.commit != ++next; });
  if (gap != events.end()) found.is_all = false;
  events.erase(gap, events.end());
  return found;
}

/// The events that a pass folds: those of each process up to the same moment, so that later events can be
/// merged later.
struct Pass {
  RecordedTree tree;                 // of earlier folded events and new ones
  std::vector<std::uint64_t> slots;  // for each profile, the number of slots that its events replace
  bool has_news = false;
};

/// `now_ns` must be read before the files are listed.
Pass read_new_events(const std::vector<fs::path>& files, const FoldedProfiles& folded, std::int64_t now_ns,
                     std::int64_t margin_ns) {
  const bool is_one = files.size() == 1 && folded.processes.size() <= 1;
  std::int64_t limit_ns = is_one ? now_ns : now_ns - margin_ns;
  std::vector<ProfileReader> readers;
  for (const fs::path& file : files) readers.emplace_back(file);
  std::ranges::sort(readers, {}, [](const ProfileReader& one) { return one.header().start_monotonic_ns; });
  std::vector<NewEvents> written;
  Pass pass;
  for (ProfileReader& reader : readers) {
    const FoldedProcess* const before = find_folded(folded, reader.header());
    RecordedProcess process;
    process.path = reader.path();
    process.header =
        reader.read_header();  // before its events: if the process has ended by then, it writes no more
    process.command_line = reader.command_line();
    pass.slots.push_back(before == nullptr ? 0 : before->slots);
    NewEvents found = new_events(reader, pass.slots.back());
    if (!found.is_all && !is_one) {
      limit_ns = std::min(limit_ns, found.events.empty() ? INT64_MIN : found.events.back().time_ns);
    }
    written.push_back(std::move(found));
    pass.tree.processes.push_back(std::move(process));
  }
  for (std::size_t p = 0; p < written.size(); ++p) {
    std::vector<Event>& events = written[p].events;
    const auto later =
        std::ranges::find_if(events, [&](const Event& event) { return event.time_ns >= limit_ns; });
    events.resize(without_cut_text(events, static_cast<std::size_t>(later - events.begin())));
    pass.has_news = pass.has_news || !events.empty();
    pass.slots[p] += events.size();
    RecordedProcess& process = pass.tree.processes[p];
    if (const FoldedProcess* const before = find_folded(folded, process.header))
      events.insert(events.begin(), before->events.begin(), before->events.end());
    process.events = std::move(events);
  }
  return pass;
}

/// Adds the marks that all processes need together, from the merged events, to the marks of each process.
void mark_together(const RecordedTree& tree, std::vector<std::vector<std::uint8_t>>& marks) {
  std::vector<MergedFrom> from;
  const std::vector<Event> merged = merge_by_time(tree, &from);
  const std::vector<std::uint8_t> together = fold_marks(merged);
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> last(tree.processes.size(), kNone);  // the newest event of each process
  const auto mark_all = [&](std::uint8_t mark) {
    for (std::size_t p = 0; p < last.size(); ++p) {
      if (last[p] != kNone) marks[p][last[p]] |= mark;
    }
  };
  for (std::size_t i = 0; i < merged.size(); ++i) {
    // Memory that a process holds at its end is released by its end.
    if (from[i].event >= tree.processes[from[i].process].events.size()) continue;
    if (merged[i].type == EventType::phase) mark_all(kMarkEndOfPhase);
    if (merged[i].type != EventType::text) last[from[i].process] = from[i].event;
    if ((together[i] & kMarkKept) != 0) marks[from[i].process][from[i].event] |= kMarkKept;
    if ((together[i] & kMarkExact) != 0) mark_all(kMarkExact);
  }
}

FoldedProfiles fold_pass(const Pass& pass) {
  const std::vector<RecordedProcess>& processes = pass.tree.processes;
  std::vector<std::vector<std::uint8_t>> marks;
  for (const RecordedProcess& process : processes) marks.push_back(fold_marks(process.events));
  if (processes.size() > 1) mark_together(pass.tree, marks);
  FoldedProfiles folded;
  for (std::size_t p = 0; p < processes.size(); ++p) {
    folded.processes.push_back({processes[p].header.pid, processes[p].header.start_monotonic_ns,
                                pass.slots[p], fold(processes[p].events, marks[p])});
  }
  return folded;
}

std::uint64_t folded_bytes(const FoldedProfiles& folded) {
  std::uint64_t events = 0;
  for (const FoldedProcess& one : folded.processes) events += one.events.size();
  return events * sizeof(Event);
}

}  // namespace

ProfileFolding::ProfileFolding() : ProfileFolding(Options()) {}

ProfileFolding::ProfileFolding(Options options) : options_(std::move(options)) {}

ProfileFolding::~ProfileFolding() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void ProfileFolding::begin(const fs::path& name) {
  name_ = name;
  folded_ = {};
  spaces_.clear();
  error_.clear();
  is_ending_ = false;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // Without a thread, the profiles are folded at the end.
  }
}

void ProfileFolding::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::milliseconds(50), [this] { return is_ending_; })) {
    lock.unlock();
    fold(name_, false);
    lock.lock();
  }
}

void ProfileFolding::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  fold(name_, true);
  write_profiles(name_);
}

void ProfileFolding::write_profiles(const fs::path& name) {
  try {
    bool has_all = true;
    for (const fs::path& file : profiles_beside(name)) {
      const ProfileHeader header = ProfileReader(file).header();
      const FoldedProcess* const folded = find_folded(folded_, header);
      if (folded == nullptr) continue;
      if (!has_end(header) && is_being_written(file)) {
        has_all = false;  // the process outlives `record`
        continue;
      }
      if (const int error = replace_profile(file, *folded, [this] { done(Step::written); }); error != 0) {
        if (error_.empty())
          error_ = fmt::format("{}: cannot be replaced: {}; the folded events stay in {}", file.string(),
                               std::strerror(error), folded_beside(name).string());
        return;
      }
      done(Step::renamed);
    }
    if (has_all) fs::remove(folded_beside(name));
  } catch (const std::exception& error) {
    if (error_.empty()) error_ = error.what();
  }
}

void ProfileFolding::fold(const fs::path& name, bool is_over) {
  name_ = name;
  try {
    while (error_.empty()) {
      // Read before the files are listed: a profile that is not listed has no older events.
      const std::int64_t now_ns = monotonic_ns();
      const std::vector<fs::path> files = profiles_beside(name);
      if (!has_enough_to_fold(files, is_over)) return;
      const Pass pass = read_new_events(files, folded_, now_ns, is_over ? 0 : options_.margin_ns);
      if (!pass.has_news) return;
      folded_ = fold_pass(pass);
      const int error = write_folded(folded_, folded_beside(name), [this] { done(Step::written); });
      if (error != 0) {
        error_ = fmt::format("{}: cannot be written: {}; the profile keeps its size",
                             folded_beside(name).string(), std::strerror(error));
        return;
      }
      done(Step::renamed);
      for (std::size_t p = 0; p < pass.slots.size(); ++p) free_space(pass.tree.processes[p], pass.slots[p]);
      done(Step::freed);
    }
  } catch (const std::exception& error) {
    error_ = error.what();  // a profile was removed, or there is no memory left
  }
}

/// The new bytes must be at least as many as the folded ones: otherwise rewriting would take all the time.
bool ProfileFolding::has_enough_to_fold(const std::vector<fs::path>& files, bool is_over) const {
  std::uint64_t left = 0;
  for (const fs::path& file : files) {
    const FoldedProcess* const before = find_folded(folded_, ProfileReader(file).header());
    const std::uint64_t done = bytes_of_slots(before == nullptr ? 0 : before->slots);
    const std::uint64_t bytes = fs::file_size(file);
    left += bytes - std::min(bytes, done);
  }
  if (is_over && !folded_.processes.empty()) return left > 0;
  return left >= std::max(options_.min_bytes, folded_bytes(folded_));
}

void ProfileFolding::free_space(const RecordedProcess& process, std::uint64_t folded_slots) {
  const int file = ::open(process.path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || ::fstat(file, &status) != 0) {
    if (file >= 0) ::close(file);
    return;
  }
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  Space& space = spaces_[{process.header.pid, process.header.start_monotonic_ns}];
  std::uint64_t end = bytes_of_slots(folded_slots);
  const bool has_ended = has_end(process.header);
  if (!has_ended) {
    // The recorder may read an extent until it unmaps it, which it does while it maps another one. If the
    // file has grown twice since the whole extent was written, one of these growths began after that and has
    // finished.
    space.waiting.emplace_back(end / kExtentBytes * kExtentBytes, file_bytes);
    end = space.freed_bytes;
    while (!space.waiting.empty() && file_bytes >= space.waiting.front().second + 2 * kExtentBytes) {
      end = std::max(end, space.waiting.front().first);
      space.waiting.pop_front();
    }
  }
  const std::uint64_t from = std::max<std::uint64_t>(space.freed_bytes, ProfileHeader::kBytes);
  int error = 0;
  if (process.header.closed == 1 && folded_slots >= process.header.end) {
    if (::ftruncate(file, ProfileHeader::kBytes) != 0) error = errno;
  } else if (end > from && ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                       static_cast<off_t>(from), static_cast<off_t>(end - from)) != 0) {
    error = errno;
  }
  ::close(file);
  space.freed_bytes = std::max(space.freed_bytes, end);
  if (error != 0) {
    error_ = fmt::format(
        "{}: its file system cannot give back the space of folded events ({}); the profile "
        "keeps its size",
        process.path.string(), std::strerror(error));
  }
}

}  // namespace peakmark
