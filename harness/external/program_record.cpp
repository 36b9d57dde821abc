#include "external/program_record.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

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

/// From where a call begins to where it ends, in events.
struct Call {
  std::size_t begin;
  std::size_t end;
};

struct Marks {
  std::vector<Call> calls;
  std::optional<std::size_t> end;  ///< of the first mark `end`
  bool inputs = false;
  bool outputs = false;
};

Marks marks_of(std::span<const Event> events) {
  Marks marks;
  std::string before;
  bool in_call = false;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].type != EventType::phase) continue;
    std::string phase = text_of(events, i);
    const Part part = part_of(phase);
    // `call` again right after `call` is another call; after `call/fft` it is the same one, going on.
    const bool begins = part == Part::call && (!in_call || phase == before);
    if (in_call && (begins || part != Part::call)) marks.calls.back().end = i;
    if (begins) marks.calls.push_back({i, events.size()});
    in_call = part == Part::call;
    marks.inputs = marks.inputs || part == Part::inputs;
    marks.outputs = marks.outputs || part == Part::outputs;
    if (part == Part::end && !marks.end) marks.end = i;
    before = std::move(phase);
  }
  return marks;
}

Size grown_in(const LedgerSummary& summary, Part part) {
  Size grown = 0;
  for (const PhaseSummary& phase : summary.phases) {
    if (part_of(phase.name) == part) grown += phase.live_at_end_bytes - phase.live_at_start_bytes;
  }
  return grown;
}

}  // namespace

ProgramRecord record_of_program(std::span<const Event> events, const LedgerSummary& whole) {
  const Marks marks = marks_of(events);
  const std::size_t end = marks.calls.empty() ? events.size() : marks.calls.back().end;
  ProgramRecord record;
  record.summary = summarise(events.first(end));
  if (marks.inputs) record.input_bytes = grown_in(record.summary, Part::inputs);
  if (marks.outputs) record.output_bytes = grown_in(record.summary, Part::outputs);
  if (!marks.calls.empty()) {
    const Call& first = marks.calls.front();
    record.first_call_peak_bytes = summarise(events.first(first.end)).peak_bytes;
    const LedgerSummary before = summarise(events.first(first.begin));
    record.setup_bytes =
        before.live_at_end_bytes - grown_in(before, Part::inputs) - grown_in(before, Part::outputs);
  }
  for (const Call& call : marks.calls) {
    const std::size_t last = std::min(call.end, events.size() - 1);
    record.calls_ns.push_back(events[last].time_ns - events[call.begin].time_ns);
  }
  if (marks.end) record.leaked_bytes = whole.live_at_end_bytes;
  record.failed_allocations = whole.failed_allocations;
  return record;
}

}  // namespace peakmark
