#include "record/process/process_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <thread>

#include "base/text.hpp"
#include "record/process/child_profiles.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Drivers may release memory slightly later than they report that their work is done.
constexpr std::chrono::milliseconds kForReleases{100};
constexpr std::uint64_t kChunk = 1U << 16;

void check_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (note.starts_with(kInvalidNote))
      throw RecorderError(fmt::format("the recording cannot be trusted: {}", note));
    if (note.starts_with(kNotCountedNote))
      throw RecorderError(fmt::format("not everything is recorded: {}", note));
  }
}

void refuse_compact_recording(const ProcessRecorders& recorders) {
  const char* const compact = std::getenv("PEAKMARK_COMPACT");
  if (compact == nullptr || std::string_view(compact) != "1" || recorders.has_own_profile()) return;
  throw RecorderError(
      "this process reads its own profile, and `record --compact` removes events from it: record without "
      "--compact");
}

}  // namespace

/// The profile that a recorder of this process writes.
struct ProcessMemory::OwnProfile {
  OwnProfile(const LoadedRecorder& from, std::size_t in_ledger)
      : recorder(from), path(path_of(from)), reader(path), source(in_ledger) {}

  static const char* path_of(const LoadedRecorder& recorder) {
    const char* const path = recorder.profile_path();
    if (path == nullptr)
      throw RecorderError("the recorder cannot write its profile: standard error has the reason");
    return path;
  }

  /// Returns the events since the last call, up to slot `end`, without a last text that is not complete yet.
  std::vector<Event> read(std::uint64_t end) {
    std::vector<Event> events = reader.events_given_out(next, end);
    events.resize(count_whole(events));
    next += events.size();
    return events;
  }

  /// Frees the disk space of the events that were read, which are not read again: programs that only allocate
  /// write hundreds of MB per second. A file system that does not support this keeps them to the end.
  void forget_read() {
    constexpr std::uint64_t kBlock = 4096;
    const std::uint64_t read_to = (ProfileHeader::kBytes + next * sizeof(Event)) / kBlock * kBlock;
    if (read_to <= forgotten_to) return;
    const int profile = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (profile < 0) return;
    if (fallocate(profile, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(forgotten_to),
                  static_cast<off_t>(read_to - forgotten_to)) == 0)
      forgotten_to = read_to;
    close(profile);
  }

  const LoadedRecorder& recorder;
  std::string path;
  ProfileReader reader;
  std::size_t source;
  std::uint64_t next = 0;
  std::uint64_t forgotten_to = ProfileHeader::kBytes;
};

/// Events of one source that are not replayed yet.
struct ProcessMemory::Stream {
  std::size_t source = 0;
  std::vector<Event> events;
  std::optional<std::int64_t> end_ns;  ///< time at which its process ended
};

/// The data read in one process; a forked child has a separate State.
struct ProcessMemory::State {
  struct OpenRegion {
    std::uint64_t in_ledger = 0;
    std::size_t children_before = 0;
    std::vector<std::string> not_waited_for;
    bool keeps_events = false;
    std::map<std::size_t, std::vector<Event>> events;  ///< by source, if the region keeps them
  };

  pid_t process = getpid();
  RegionLedger ledger;
  std::vector<std::unique_ptr<OwnProfile>> profiles;
  ChildProfiles children;
  std::map<std::uint64_t, OpenRegion> open;
  std::map<std::uint64_t, std::uint64_t> in_ledger;  ///< for each region that was ever opened
  Size live_at_last_edge = 0;

  void connect(const ProcessRecorders& recorders) {
    for (std::size_t i = profiles.size(); i < recorders.loaded().size(); ++i)
      profiles.push_back(std::make_unique<OwnProfile>(*recorders.loaded()[i], ledger.add_source(0)));
  }

  std::vector<Stream> read_all() {
    std::vector<Stream> streams;
    for (const auto& profile : profiles)
      streams.push_back({profile->source, profile->read(profile->recorder.event_count()), std::nullopt});
    for (const auto& child : children.all()) {
      if (child->end_ns) continue;
      std::vector<Event> events = child->read(children.replaced_ns(*child));
      streams.push_back({child->source, std::move(events), child->end_ns});
    }
    return streams;
  }

  void keep(std::size_t source, const std::vector<Event>& events) {
    for (auto& [number, region] : open) {
      if (!region.keeps_events) continue;
      std::vector<Event>& kept = region.events[source];
      kept.insert(kept.end(), events.begin(), events.end());
    }
  }

  /// Events of the same source are ordered by slot; events of different sources by time.
  void replay(const std::vector<Stream>& streams) {
    for (const Stream& stream : streams) keep(stream.source, stream.events);
    struct Place {
      std::int64_t time_ns;
      const Stream* stream;
      std::size_t index;  // equal to the number of events: the end of the process
    };
    std::vector<Place> places;
    for (const Stream& stream : streams) {
      std::int64_t latest = 0;
      for (std::size_t i = 0; i < stream.events.size(); ++i) {
        latest = std::max(latest, stream.events[i].time_ns);
        places.push_back({latest, &stream, i});
      }
      if (stream.end_ns) places.push_back({std::max(latest, *stream.end_ns), &stream, stream.events.size()});
    }
    std::ranges::stable_sort(places, {}, &Place::time_ns);
    for (const auto& [time_ns, stream, index] : places) {
      if (index == stream->events.size()) {
        ledger.end_source(stream->source, time_ns);
      } else {
        ledger.replay(stream->source, stream->events, index);
      }
    }
  }

  /// A single source needs no merging. Reading in chunks limits the memory.
  void read_and_replay(OwnProfile& profile) {
    const std::uint64_t end = profile.recorder.event_count();
    while (profile.next < end) {
      const std::vector<Event> events = profile.read(std::min(end, profile.next + kChunk));
      if (events.empty()) return;
      keep(profile.source, events);
      for (std::size_t i = 0; i < events.size(); ++i) ledger.replay(profile.source, events, i);
    }
  }

  /// Returns the notes on processes that began within a region.
  [[nodiscard]] std::vector<std::string> notes_on_children(std::size_t before) const {
    std::set<pid_t> processes;
    std::set<pid_t> unseen;
    for (std::size_t i = before; i < children.all().size(); ++i) {
      const ChildProfile& child = *children.all()[i];
      processes.insert(child.reader.header().pid);
      if (child.ended_unseen) unseen.insert(child.reader.header().pid);
    }
    std::vector<std::string> notes;
    if (!processes.empty()) {
      notes.push_back(fmt::format("the memory of {} is in these figures",
                                  quantity(processes.size(), "child process", "child processes")));
    }
    if (!unseen.empty()) {
      notes.push_back(
          fmt::format("{} ended unseen, killed or by os._exit: counted as holding memory until the end was "
                      "noticed; under `peakmark record` that is seen",
                      quantity(unseen.size(), "child process", "child processes")));
    }
    return notes;
  }

  [[nodiscard]] RegionResult result(const OpenRegion& region, Use use) const {
    RegionResult result;
    result.figures = ledger.figures(region.in_ledger);
    result.is_recorded = !profiles.empty() || !children.all().empty();
    if (use == Use::benchmarks) return result;
    for (const auto& profile : profiles) {
      const auto events = region.events.find(profile->source);
      if (events == region.events.end()) continue;
      for (RepeatedPhase& phase : find_repetitions(events->second, {.is_settled = true}))
        result.repetitions.push_back(std::move(phase));
    }
    result.lists = ledger.lists(region.in_ledger);
    result.notes = result.lists->notes;
    result.notes.insert(result.notes.end(), region.not_waited_for.begin(), region.not_waited_for.end());
    for (std::string& note : notes_on_children(region.children_before))
      result.notes.push_back(std::move(note));
    return result;
  }
};

ProcessMemory::ProcessMemory() : state_(std::make_unique<State>()) {}

ProcessMemory::~ProcessMemory() = default;

ProcessMemory::State& ProcessMemory::state() {
  if (state_->process != getpid()) {
    parents_ = std::move(state_);
    state_ = std::make_unique<State>();
  }
  return *state_;
}

void ProcessMemory::load(Use use, const fs::path& folder, bool sync, bool stacks) {
  const std::lock_guard lock(mutex_);
  recorders_.request(folder, sync, stacks);
  if (use == Use::benchmarks && recorders_.loaded().empty()) recorders_.load();
}

std::size_t ProcessMemory::require_recorded(Use use) {
  const std::lock_guard lock(mutex_);
  refuse_compact_recording(recorders_);
  recorders_.require_recorded(use == Use::benchmarks ? ProcessRecorders::UnrecordedOpencl::refused
                                                     : ProcessRecorders::UnrecordedOpencl::ignored);
  return recorders_.loaded().size();
}

std::vector<std::string> ProcessMemory::synchronise(std::unique_lock<std::mutex>& lock, Use use) {
  require_recorded(use);
  lock.lock();
  std::vector<const LoadedRecorder*> loaded;
  for (const auto& recorder : recorders_.loaded()) loaded.push_back(recorder.get());
  // Other threads continue meanwhile: a device may wait for their work.
  lock.unlock();
  std::vector<std::string> reasons;
  for (const LoadedRecorder* const recorder : loaded) {
    if (const char* const reason = recorder->synchronise())
      reasons.push_back(fmt::format("the device was not waited for: {}", reason));
  }
  lock.lock();
  return reasons;
}

void ProcessMemory::advance(Use use) {
  State& now = state();
  now.connect(recorders_);
  if (use == Use::windows) {
    now.children.find(recorders_.has_own_profile(),
                      [&](pid_t process) { return now.ledger.add_source(process); });
  }
  const bool has_children =
      std::ranges::any_of(now.children.all(), [](const auto& child) { return !child->end_ns; });
  if (now.profiles.size() == 1 && !has_children) {
    now.read_and_replay(*now.profiles.front());
  } else {
    now.replay(now.read_all());
  }
  check_notes(now.ledger.notes());
  // A profile that `peakmark record` requested must not be truncated here.
  if (!recorders_.has_own_profile()) return;
  for (const auto& profile : now.profiles) profile->forget_read();
}

void ProcessMemory::wait_for_releases(Use use, Size enough, const std::function<Size()>& live) {
  const Clock::time_point patience = Clock::now() + kForReleases;
  while (live() > enough && Clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    advance(use);
  }
}

std::uint64_t ProcessMemory::begin(Use use, const RegionOptions& options) {
  std::unique_lock lock(mutex_, std::defer_lock);
  std::vector<std::string> not_waited_for = synchronise(lock, use);
  advance(use);
  State& now = state();
  // Late releases of one benchmark must not count for the next.
  if (use == Use::benchmarks)
    wait_for_releases(use, now.live_at_last_edge, [&] { return now.ledger.live_bytes(); });
  const auto since = options.since ? now.in_ledger.find(*options.since) : now.in_ledger.end();
  const std::uint64_t in_ledger = now.ledger.open(
      since == now.in_ledger.end() ? std::nullopt : std::optional(since->second), options.has_timeline);
  now.in_ledger[next_region_] = in_ledger;
  now.open[next_region_] = {
      in_ledger, now.children.all().size(), std::move(not_waited_for), options.keeps_events, {}};
  return next_region_++;
}

RegionResult ProcessMemory::end(Use use, std::uint64_t region) {
  std::unique_lock lock(mutex_, std::defer_lock);
  std::vector<std::string> not_waited_for;
  std::exception_ptr error;
  try {
    not_waited_for = synchronise(lock, use);
    advance(use);
  } catch (...) {
    error = std::current_exception();
  }
  if (!lock.owns_lock()) lock.lock();
  State& now = state();
  const auto found = now.open.find(region);
  if (found == now.open.end()) {
    // Begun before this process was forked: its figures are those at the fork.
    if (parents_ == nullptr || !parents_->open.contains(region))
      throw RecorderError("this region has not begun, or has ended");
    return parents_->result(parents_->open.at(region), use);
  }
  const std::uint64_t in_ledger = found->second.in_ledger;
  RegionResult result;
  try {
    if (error != nullptr) std::rethrow_exception(error);
    const auto own = [&] { return now.ledger.figures(in_ledger).left_bytes; };
    wait_for_releases(use, 0, own);
    std::vector<std::string>& reasons = found->second.not_waited_for;
    for (std::string& reason : not_waited_for) {
      if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
    }
    result = now.result(found->second, use);
    now.live_at_last_edge = result.figures.live_bytes;
  } catch (...) {
    error = std::current_exception();
  }
  now.ledger.close(in_ledger);
  now.open.erase(found);
  if (error != nullptr) std::rethrow_exception(error);
  return result;
}

}  // namespace peakmark
