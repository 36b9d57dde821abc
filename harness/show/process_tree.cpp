#include "show/process_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <utility>

#include "base/error.hpp"
#include "record/profile_files.hpp"

namespace peakmark {
namespace {

RecordedProcess read_process(const std::filesystem::path& path) {
  ProfileReader reader(path);
  RecordedProcess process;
  process.path = path;
  process.events = reader.all_events();
  process.header = reader.header();
  process.command_line = reader.command_line();
  process.complete = reader.complete();
  return process;
}

}  // namespace

RecordedTree read_tree(const std::filesystem::path& path) {
  RecordedTree tree;
  std::error_code error;
  const bool own = std::filesystem::is_regular_file(path, error);
  if (own) tree.processes.push_back(read_process(path));
  for (const std::filesystem::path& other : profiles_beside(path))
    tree.processes.push_back(read_process(other));
  if (tree.processes.empty()) {
    throw UsageError(fmt::format("{}: no such profile, and none of a process of it ({}.<pid>)", path.string(),
                                 path.filename().string()));
  }
  std::sort(tree.processes.begin() + (own ? 1 : 0), tree.processes.end(),
            [](const RecordedProcess& a, const RecordedProcess& b) {
              return a.header.start_monotonic_ns < b.header.start_monotonic_ns;
            });
  return tree;
}

std::vector<Event> merge_by_time(const RecordedTree& tree) {
  // A merge of heads, not a sort: within a process the order of the slots is the truth, and two threads'
  // clocks may contradict it by some nanoseconds.
  using Head = std::pair<std::int64_t, std::size_t>;  // time of the next event, process
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  std::vector<std::size_t> next(tree.processes.size(), 0);
  std::size_t total = 0;
  for (std::size_t p = 0; p < tree.processes.size(); ++p) {
    const auto& events = tree.processes[p].events;
    total += events.size();
    if (!events.empty()) heads.emplace(events.front().time_ns, p);
  }
  std::vector<Event> merged;
  merged.reserve(total);
  while (!heads.empty()) {
    const std::size_t p = heads.top().second;
    heads.pop();
    const auto& events = tree.processes[p].events;
    // A text and its continuations stay together.
    do {
      Event event = events[next[p]++];
      const std::uint64_t place = static_cast<std::uint64_t>(p) << 48U;
      if (event.address != 0) event.address ^= place;
      const bool allocates =
          event.type == EventType::allocation || event.type == EventType::failed_allocation;
      if (allocates && event.amounts.stack != 0) event.amounts.stack ^= place;
      merged.push_back(event);
    } while (next[p] < events.size() && events[next[p]].type == EventType::text);
    if (next[p] < events.size()) heads.emplace(events[next[p]].time_ns, p);
  }
  return merged;
}

}  // namespace peakmark
