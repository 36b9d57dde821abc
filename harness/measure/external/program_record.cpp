#include "measure/external/program_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "peakmark/opencl_error.hpp"
#include "record/ledger/replay.hpp"

namespace peakmark {
namespace {

enum class Part { other, call, inputs, outputs, end };

Part part_of(std::string_view phase) {
  while (!phase.empty()) {
    const std::string_view part = phase.substr(0, phase.find('/'));
    if (part == "call") return Part::call;
    if (part == "inputs") return Part::inputs;
    if (part == "outputs") return Part::outputs;
    if (part == "end") return Part::end;
    phase.remove_prefix(std::min(phase.size(), part.size() + 1));
  }
  return Part::other;
}

/// Returns the index of the event's process in the tree, as merge_by_time stores it.
std::uint64_t process_of(const Event& event) {
  return event.address >> 48U;
}

/// Returns false for notes and texts of stacks, which do not identify their process.
bool has_process(EventType type) {
  return type == EventType::phase || type == EventType::allocation || type == EventType::release ||
         type == EventType::failed_allocation;
}

/// The beginning and end of a call, as indices of events.
struct Call {
  std::uint64_t process;
  std::size_t begin;
  std::size_t end;   ///< one past its last event
  std::size_t last;  ///< the event whose time is its end: the mark, or the last event of its process
};

struct Marks {
  std::vector<Call> calls;          ///< in the order of their beginning
  std::vector<std::string> phases;  ///< without duplicates
  bool end = false;                 ///< there is a mark `end`
  std::size_t prepared = 0;         ///< end of the last phase of inputs or outputs; 0 without one
};

/// Phases belong to a process: when a phase of one process ends, a call of another continues.
class MarkReader {
 public:
  explicit MarkReader(std::span<const Event> events) : events_(events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!has_process(events[i].type)) continue;
      Process& process = processes_[process_of(events[i])];
      process.last = i;
      if (events[i].type == EventType::phase) read(i, process);
    }
    for (const auto& [place, process] : processes_) {
      if (process.call) end_call(*process.call, process.last + 1, process.last);
      if (is_prepared_by(process.part)) marks_.prepared = std::max(marks_.prepared, process.last + 1);
    }
  }
  [[nodiscard]] const Marks& marks() const { return marks_; }

 private:
  struct Process {
    std::string phase;
    Part part = Part::other;
    std::optional<std::size_t> call;  ///< the call that the process is in
    std::size_t last = 0;             ///< the last event of the process so far
  };

  static bool is_prepared_by(Part part) { return part == Part::inputs || part == Part::outputs; }

  void end_call(std::size_t call, std::size_t end, std::size_t last) {
    marks_.calls[call].end = end;
    marks_.calls[call].last = last;
  }

  void read(std::size_t i, Process& process) {
    std::string phase = text_of(events_, i);
    const Part part = part_of(phase);
    if (!phase.empty() && seen_.insert(phase).second) marks_.phases.push_back(phase);
    // `call` directly after `call` is a new call; after `call/fft` it continues the same one.
    const bool begins = part == Part::call && (!process.call || phase == process.phase);
    if (process.call && (begins || part != Part::call)) {
      end_call(*process.call, i, i);
      process.call.reset();
    }
    if (begins) {
      process.call = marks_.calls.size();
      marks_.calls.push_back({process_of(events_[i]), i, i, i});
    }
    if (is_prepared_by(process.part)) marks_.prepared = i;
    marks_.end = marks_.end || part == Part::end;
    process.phase = std::move(phase);
    process.part = part;
  }

  std::span<const Event> events_;
  std::map<std::uint64_t, Process> processes_;
  std::set<std::string> seen_;
  Marks marks_;
};

/// Live memory, by the phases in which it was allocated.
struct Prepared {
  std::optional<Size> inputs;  ///< null if no such phase has begun
  std::optional<Size> outputs;
  Size others = 0;
};

Prepared prepared_by(std::span<const Event> events) {
  Lives lives;
  replay(events, lives);
  auto life = lives.all.begin();
  std::map<std::uint64_t, Part> parts;  // of each process
  Prepared prepared;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    Part& part = parts[process_of(event)];
    if (event.type == EventType::phase) {
      part = part_of(text_of(events, i));
      if (part == Part::inputs) prepared.inputs = prepared.inputs.value_or(0);
      if (part == Part::outputs) prepared.outputs = prepared.outputs.value_or(0);
    }
    if (event.type != EventType::allocation || (life++)->to != SIZE_MAX || !counts_into_peak(event.kind))
      continue;
    Size& bytes = part == Part::inputs    ? *prepared.inputs
                  : part == Part::outputs ? *prepared.outputs
                                          : prepared.others;
    bytes += event.amounts.bytes;
  }
  return prepared;
}

/// Returns the calls of each process, as indices into the list; those of one process follow each other in
/// time.
std::map<std::uint64_t, std::vector<std::size_t>> by_process(const std::vector<Call>& calls) {
  std::map<std::uint64_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < calls.size(); ++i) places[calls[i].process].push_back(i);
  return places;
}

/// A command belongs to the call of its process in which it was enqueued. A call should wait for its
/// commands; otherwise its host time would have no meaning either.
std::optional<std::vector<std::int64_t>> device_times(std::span<const Event> events,
                                                      const std::vector<Call>& calls) {
  bool is_seen = false;
  std::vector<std::int64_t> times(std::max<std::size_t>(calls.size(), 1), 0);
  const auto places = by_process(calls);
  const auto begin_of = [&](std::size_t call) { return events[calls[call].begin].time_ns; };
  for (const Event& event : events) {
    if (event.type != EventType::work) continue;
    is_seen = true;
    if (calls.empty()) {
      times.front() += event.amounts.bytes;
      continue;
    }
    const auto of_process = places.find(process_of(event));
    if (of_process == places.end()) continue;
    const std::int64_t asked_ns = event.amounts.auxiliary;
    const auto later = std::ranges::upper_bound(of_process->second, asked_ns, {}, begin_of);
    if (later == of_process->second.begin()) continue;
    const std::size_t call = *std::prev(later);
    if (asked_ns <= events[calls[call].last].time_ns) times[call] += event.amounts.bytes;
  }
  return is_seen ? std::optional(times) : std::nullopt;
}

/// OpenCL's errors are negative, CUDA's positive. OpenCL reports an invalid buffer size both for one that
/// exceeds the device's limit and for 0, which no device accepts.
bool wants_memory(const Event& failed) {
  constexpr std::int32_t kCudaOutOfMemory = 2;
  constexpr std::int32_t kOpenClInvalidBufferSize = -61;
  const std::int32_t error = failed.amounts.result;
  if (error == kOpenClInvalidBufferSize && failed.amounts.bytes <= 0) return false;
  return error == kCudaOutOfMemory || is_opencl_out_of_memory(error, "clCreateBuffer");
}

/// The last failure of each process counts: after a failure a program may find a size that fits, and end for
/// another reason.
void read_failures(std::span<const Event> events, ProgramRecord& record) {
  std::map<std::uint64_t, bool> wanted;
  for (const Event& event : events) {
    if (event.type != EventType::failed_allocation) continue;
    wanted[process_of(event)] = wants_memory(event);
    record.last_failure = event.amounts.result;
  }
  for (const auto& [process, wants] : wanted) record.out_of_memory = record.out_of_memory || wants;
}

}  // namespace

MemoryPass ProgramRecord::memory_pass() const {
  MemoryPass pass = to_memory_pass(summary);
  pass.first_call_peak_bytes = first_call_peak_bytes;
  pass.setup_bytes = setup_bytes;
  pass.input_bytes = input_bytes;
  pass.output_bytes = output_bytes;
  return pass;
}

ProgramRecord record_of_program(std::span<const Event> events, const LedgerSummary& whole) {
  const MarkReader reader(events);
  const Marks& marks = reader.marks();
  std::size_t end = marks.calls.empty() ? events.size() : 0;
  for (const Call& call : marks.calls) end = std::max(end, call.end);
  ProgramRecord record;
  record.counted_events = end;
  record.summary = summarise(events.first(end));
  const std::size_t prepared_at = marks.calls.empty() ? marks.prepared : marks.calls.front().begin;
  const Prepared prepared = prepared_by(events.first(prepared_at));
  record.input_bytes = prepared.inputs;
  record.output_bytes = prepared.outputs;
  if (!marks.calls.empty()) {
    record.first_call_peak_bytes = summarise(events.first(marks.calls.front().end)).peak_bytes;
    record.setup_bytes = prepared.others;
  }
  for (const Call& call : marks.calls) {
    record.calls_ns.push_back(events[call.last].time_ns - events[call.begin].time_ns);
  }
  record.device_ns = device_times(events, marks.calls);
  if (marks.end) record.leaked_bytes = whole.live_at_end_bytes;
  record.phases = marks.phases;
  record.failed_allocations = whole.failed_allocations;
  if (!whole.refused.empty()) record.largest_refused_bytes = whole.refused.front().bytes;
  read_failures(events, record);
  return record;
}

std::string why_work_is_lost(const RecordedTree& tree) {
  for (const RecordedProcess& process : tree.processes) {
    const std::string_view recorder = process.header.recorder;
    if (recorder.starts_with("cupti") && process.header.closed == 0) {
      return fmt::format("process {} was killed, or left by _exit, before CUPTI handed over its last records",
                         process.header.pid);
    }
  }
  return "";
}

}  // namespace peakmark
