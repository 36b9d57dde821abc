#include "record/show/process_tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "record/ledger/device_use.hpp"
#include "record/ledger/replay.hpp"
#include "record/profile/profile.hpp"
#include "record/profile/profile_files.hpp"
#include "record/show/folded_profiles.hpp"

namespace peakmark {
namespace {

/// Returns NAME for NAME.<pid> and NAME.<pid>.2, and any other path unchanged.
std::filesystem::path without_process(const std::filesystem::path& path) {
  std::filesystem::path name = path;
  const auto is_number = [](const std::string& extension) {
    return extension.size() > 1 && extension.find_first_not_of("0123456789", 1) == std::string::npos;
  };
  while (is_number(name.extension().string())) name.replace_extension();
  return name;
}

/// Returns numbers that change each time the file is replaced.
std::pair<ino_t, std::int64_t> version_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

/// The file of folded events that belongs to `path`, and its version before it was read.
struct FoldedFileOfTree {
  std::filesystem::path path;
  std::pair<ino_t, std::int64_t> version;
  FoldedProfiles folded;  ///< empty if there is no such file
};

FoldedFileOfTree read_folded_of(const std::filesystem::path& path) {
  FoldedFileOfTree file;
  for (const std::filesystem::path& name : {path, without_process(path)}) {
    file.path = folded_beside(name);
    file.version = version_of(file.path);
    if (auto folded = read_folded(file.path)) {
      file.folded = *std::move(folded);
      break;
    }
  }
  return file;
}

}  // namespace

namespace {

bool is_of_another_recording(const ProfileHeader& one, const ProfileHeader& other) {
  const auto has_id = [](const ProfileHeader& header) {
    return std::ranges::any_of(header.recording, [](unsigned char byte) { return byte != 0; });
  };
  return has_id(one) && has_id(other) &&
         std::memcmp(one.recording, other.recording, sizeof(one.recording)) != 0;
}

RecordedTree read_tree_once(const std::filesystem::path& path, const FoldedProfiles& folded) {
  RecordedTree tree;
  std::error_code error;
  std::vector<std::filesystem::path> files;
  const bool own = std::filesystem::is_regular_file(path, error);
  if (own) files.push_back(path);
  std::ranges::copy(profiles_beside(path), std::back_inserter(files));
  if (const auto program = own ? std::nullopt : program_profile(path, 0))
    std::rotate(files.begin(), std::ranges::find(files, *program),
                files.end());  // clang 14: no std::ranges::rotate
  for (const std::filesystem::path& file : files) {
    tree.processes.push_back(read_process(file, find_folded(folded, ProfileReader(file).header())));
  }
  if (tree.processes.empty()) {
    throw UsageError(fmt::format("{}: no such profile, and none of a process of it ({}.<pid>)", path.string(),
                                 path.filename().string()));
  }
  std::sort(tree.processes.begin() + 1, tree.processes.end(),
            [](const RecordedProcess& a, const RecordedProcess& b) {
              return a.header.start_monotonic_ns < b.header.start_monotonic_ns;
            });
  // A process may have outlived an earlier recording with this name that was killed; its profile does not
  // belong here.
  const ProfileHeader first = tree.processes.front().header;
  std::erase_if(tree.processes,
                [&](const RecordedProcess& one) { return is_of_another_recording(one.header, first); });
  return tree;
}

}  // namespace

RecordedProcess read_process(const std::filesystem::path& path, const FoldedProcess* folded) {
  ProfileReader reader(path);
  RecordedProcess process;
  process.path = path;
  // If the profile itself begins with folded events, it is complete without the other file.
  if (folded != nullptr && is_folded(reader.events(0, 1))) folded = nullptr;
  if (folded != nullptr) reader.skip(folded->slots);
  process.events = reader.all_events();
  if (folded != nullptr) {
    std::vector<Event> events = folded->events;
    const std::span<const Event> rest = process.events;
    events.insert(events.end(), rest.begin(), rest.end());
    process.events = std::move(events);
  }
  process.header = reader.header();
  process.command_line = reader.command_line();
  process.complete = reader.complete();
  process.lost_events = reader.lost_events();
  process.cut_short = reader.cut_short();
  return process;
}

std::string why_not_whole(const RecordedProcess& process, const std::string& invalid) {
  if (!invalid.empty()) return invalid;
  if (process.header.lost > 0) {
    return fmt::format("{} missing, since the recording stopped early: {}; {}",
                       quantity(process.lost_events, "event is", "events are"),
                       stop_reason(process.header.stop_error), stop_advice(process.header.stop_error));
  }
  if (process.cut_short) {
    return fmt::format("the file is cut short, {} of its {} are there; copy it again", process.events.size(),
                       quantity(process.header.end, "event"));
  }
  if (process.header.closed == 1 && process.lost_events > 0) {
    return quantity(process.lost_events, "event is", "events are") +
           " missing: the file has a hole; copy it again, or record it again";
  }
  return "";
}

RecordedTree read_tree(const std::filesystem::path& path) {
  // During a recording, events may be folded between two reads, and are then no longer in their profile.
  constexpr int kAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    const FoldedFileOfTree file = read_folded_of(path);
    RecordedTree tree = read_tree_once(path, file.folded);
    if (attempt == kAttempts || version_of(file.path) == file.version) return tree;
  }
}

namespace {

bool is_same_recorder(const RecordedProcess& a, const RecordedProcess& b) {
  return std::strncmp(a.header.recorder, b.header.recorder, sizeof(a.header.recorder)) == 0;
}

}  // namespace

std::optional<std::int64_t> end_of(const RecordedProcess& process, const RecordedTree& tree) {
  const ProfileHeader& header = process.header;
  std::optional<std::int64_t> end;
  if (header.end_monotonic_ns != 0) end = header.end_monotonic_ns;
  // A program that executes another one in its place has ended at the latest when the other's recorder
  // starts.
  for (const RecordedProcess& other : tree.processes) {
    if (other.header.pid == header.pid && other.header.start_monotonic_ns > header.start_monotonic_ns &&
        is_same_recorder(other, process)) {
      end = std::min(end.value_or(INT64_MAX), other.header.start_monotonic_ns);
    }
  }
  return end;
}

namespace {

/// Returns releases for all memory that is live when a process ends, because the system then frees it.
std::vector<Event> releases_at_end(const RecordedProcess& process, const RecordedTree& tree) {
  const std::optional<std::int64_t> end = end_of(process, tree);
  if (!end || process.events.empty()) return {};
  std::set<std::uint64_t> live;
  ReplayObserver nothing;
  replay(process.events, nothing).for_each([&](const LiveEntry& entry) { live.insert(entry.address); });
  std::vector<Event> releases;
  for (const std::uint64_t address : live) {
    Event release;
    release.type = EventType::release;
    release.address = address;
    release.time_ns = std::max(*end, process.events.back().time_ns);
    releases.push_back(release);
  }
  return releases;
}

/// The events of a process, followed by the releases at its end.
struct WholeLife {
  const EventBlock& events;
  std::vector<Event> releases;

  [[nodiscard]] std::size_t size() const { return events.size() + releases.size(); }
  [[nodiscard]] const Event& operator[](std::size_t index) const {
    return index < events.size() ? events[index] : releases[index - events.size()];
  }
};

/// Returns for each profile the index of the first profile of its process: a process with the recorders of
/// OpenCL and of CUDA writes two. If a process executes another program, or itself again, this counts as a
/// new process.
std::vector<std::size_t> first_of_process(const RecordedTree& tree) {
  const auto& processes = tree.processes;
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    first.push_back(i);
    std::size_t before = i;
    while (before > 0 && processes[before - 1].header.pid != processes[i].header.pid) --before;
    if (before == 0) continue;
    const std::size_t life = first[before - 1];
    bool is_new = processes[life].command_line != processes[i].command_line;
    for (std::size_t j = 0; j < i; ++j)
      is_new = is_new || (first[j] == life && is_same_recorder(processes[j], processes[i]));
    if (!is_new) first[i] = life;
  }
  return first;
}

}  // namespace

std::vector<Event> merge_by_time(const RecordedTree& tree, std::vector<MergedFrom>* from) {
  // Merges instead of sorting: within a process the order of the slots is right, and the clocks of two
  // threads may contradict it by some nanoseconds.
  using Head = std::pair<std::int64_t, std::size_t>;  // time of the next event, process
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  std::vector<std::size_t> next(tree.processes.size(), 0);
  std::vector<WholeLife> lives;
  std::size_t total = 0;
  for (std::size_t p = 0; p < tree.processes.size(); ++p) {
    const RecordedProcess& process = tree.processes[p];
    lives.push_back({process.events, releases_at_end(process, tree)});
    total += lives[p].size();
    if (lives[p].size() > 0) heads.emplace(lives[p][0].time_ns, p);
  }
  const std::vector<std::size_t> first = first_of_process(tree);
  std::vector<Event> merged;
  merged.reserve(total);
  if (from != nullptr) from->reserve(total);
  while (!heads.empty()) {
    const std::size_t p = heads.top().second;
    heads.pop();
    const WholeLife& events = lives[p];
    // Both recorders of a process record its phases.
    const bool is_in_both = first[p] != p && events[next[p]].type == EventType::phase;
    // A text must stay together with its continuations.
    do {
      Event event = events[next[p]++];
      if (is_in_both) continue;
      const std::uint64_t place = static_cast<std::uint64_t>(first[p]) << 48U;
      const bool allocates =
          event.type == EventType::allocation || event.type == EventType::failed_allocation;
      if (event.address != 0 || allocates || event.type == EventType::phase) event.address ^= place;
      if (allocates && event.amounts.stack != 0) event.amounts.stack ^= place;
      merged.push_back(event);
      if (from != nullptr) from->push_back({p, next[p] - 1});
    } while (next[p] < events.size() && events[next[p]].type == EventType::text);
    if (next[p] < events.size()) heads.emplace(events[next[p]].time_ns, p);
  }
  return merged;
}

const RecordedProcess& process_of(const RecordedTree& tree, const Allocation& merged) {
  return tree.processes.at(merged.address >> 48U);
}

std::vector<ProcessPlace> process_order(const RecordedTree& tree) {
  const auto& processes = tree.processes;
  // If the parent wrote several profiles, the first one counts. The system may reuse a process id, so a
  // parent must have started before its child.
  const auto parent_of = [&](std::size_t child) {
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (processes[i].header.pid == processes[child].header.parent_pid &&
          processes[i].header.start_monotonic_ns < processes[child].header.start_monotonic_ns) {
        return i;
      }
    }
    return processes.size();
  };
  std::vector<std::vector<std::size_t>> children(processes.size() + 1);
  for (std::size_t i = 0; i < processes.size(); ++i) children[parent_of(i)].push_back(i);

  std::vector<ProcessPlace> order;
  std::vector<ProcessPlace> left;
  const auto push_children = [&](std::size_t parent, int depth) {
    for (std::size_t i = children[parent].size(); i-- > 0;) left.push_back({children[parent][i], depth});
  };
  push_children(processes.size(), 0);
  while (!left.empty()) {
    const ProcessPlace place = left.back();
    left.pop_back();
    order.push_back(place);
    push_children(place.index, place.depth + 1);
  }
  return order;
}

LedgerSummary summarise_together(const RecordedTree& tree) {
  if (tree.processes.size() == 1) return summarise(tree.processes.front().events);
  LedgerSummary together = summarise(merge_by_time(tree));
  together.live_at_end_bytes = 0;
  together.leaked.clear();
  together.refused
      .clear();  // the phase of a request is that of its own process, so they are collected by process below
  for (const RecordedProcess& process : tree.processes) {
    const LedgerSummary own = summarise(process.events);
    together.live_at_end_bytes = checked_add(together.live_at_end_bytes, own.live_at_end_bytes);
    together.leaked.insert(together.leaked.end(), own.leaked.begin(), own.leaked.end());
    together.refused.insert(together.refused.end(), own.refused.begin(), own.refused.end());
  }
  std::ranges::stable_sort(together.leaked, std::greater<>(), &Allocation::bytes);
  std::ranges::stable_sort(together.refused, std::greater<>(), &RefusedAllocation::bytes);
  return together;
}

std::string keep_one_device(RecordedTree& tree) {
  std::map<std::string, Size> peaks;
  std::vector<RecordedProcess*> with_several;
  for (RecordedProcess& process : tree.processes) {
    const std::vector<DeviceUse> uses = use_by_device(process.events);
    if (!uses.empty()) with_several.push_back(&process);
    for (const DeviceUse& use : uses) {
      Size& peak = peaks[use.name];
      peak = checked_add(peak, use.peak_bytes);
    }
  }
  if (peaks.empty()) return "";
  const std::string name =
      std::ranges::max_element(peaks, {}, [](const auto& one) { return one.second; })->first;
  std::vector<std::string> texts;
  for (const auto& [device, peak] : peaks) texts.push_back(fmt::format("{} {}", device, format_size(peak)));
  for (RecordedProcess* const process : with_several)
    process->events = events_of_device(process->events, name);
  return fmt::format("it uses {} devices, with these peaks: {}; only the memory of {} is judged",
                     peaks.size(), fmt::join(texts, ", "), name);
}

}  // namespace peakmark
