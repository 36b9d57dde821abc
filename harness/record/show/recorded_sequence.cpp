#include "record/show/recorded_sequence.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/program.hpp"
#include "record/profile/call_frames.hpp"

namespace peakmark {

void CallChains::add(std::span<const Event> events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].type == EventType::stack) texts_.try_emplace(events[i].address, text_of(events, i));
  }
}

void CallChains::add_new(EventSource& source) {
  const std::vector<Event> events = source.events(read_);
  add(events);
  // The continuations of a text at the end may not be written yet. In that case the text is read again later.
  read_ += count_whole(events);
}

std::string CallChains::chain(std::uint64_t stack) {
  const auto text = texts_.find(stack);
  if (text == texts_.end()) return "";
  return call_chain(text->second, [this](const std::string& file, std::uint64_t offset) {
    return symbols_.function(file, offset);
  });
}

ProcessName process_names(const RecordedTree& tree) {
  std::vector<std::string> names;
  names.reserve(tree.processes.size());
  for (const RecordedProcess& process : tree.processes) {
    // If a program executes another one in its place, both are the same process.
    const bool is_program = process.header.pid == tree.processes.front().header.pid;
    names.push_back(is_program ? "" : program_name(process.command_line));
  }
  return [names = std::move(names)](std::uint64_t address) {
    const std::size_t place = address >> 48U;
    return place < names.size() ? names[place] : std::string();
  };
}

AllocationSequence recorded_sequence(const RecordedTree& tree) {
  std::int64_t newest_ns = 0;
  for (const RecordedProcess& process : tree.processes) {
    newest_ns = std::max(newest_ns, process.header.start_realtime_ns);
    if (const std::string why = why_not_whole(process, invalid_note(process.events)); !why.empty())
      throw UsageError(process.path.string() + ": " + why);
  }
  const std::vector<Event> events = merge_by_time(tree);
  CallChains chains(newest_ns);
  chains.add(events);
  const std::string file = tree.processes.front().path.string();
  try {
    auto sequence = allocation_sequence(
        events, [&](std::uint64_t stack) { return chains.chain(stack); }, process_names(tree));
    if (sequence) return std::move(*sequence);
  } catch (const UsageError& error) {
    throw UsageError(file + ": " + error.what());
  }
  throw UsageError(file + ": has more than " + std::to_string(kMaxSequencedAllocations) +
                   " allocations, too many for formulas; record fewer calls, or a smaller shape");
}

}  // namespace peakmark
