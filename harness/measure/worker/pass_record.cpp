#include "measure/worker/pass_record.hpp"

#include <algorithm>
#include <unordered_map>

namespace peakmark {

namespace {

bool marks(const Event& event, std::string_view name) {
  return event.type == EventType::phase && text_of({&event, 1}, 0) == name;
}

bool marks_end_of_window(const Event& event) {
  return marks(event, phase::verify) || marks(event, phase::end);
}

/// Returns the index of the first event after `first` and the texts that continue it.
std::size_t end_of_group(std::span<const Event> events, std::size_t first) {
  std::size_t end = first + 1;
  while (end < events.size() && events[end].type == EventType::text) ++end;
  return end;
}

/// Appends the net effect of a restore: first the releases of earlier memory, then the allocations that stay.
/// Memory that a restore allocates and releases itself does not count as a need of the method.
void append_net(std::vector<Event>& window, std::span<const Event> restore) {
  std::unordered_map<std::uint64_t, std::size_t> stays;  // address → its allocation in `restore`
  std::vector<Event> releases;
  for (std::size_t i = 0; i < restore.size(); ++i) {
    const Event& event = restore[i];
    if (event.type == EventType::allocation) stays[event.address] = i;
    if (event.type == EventType::release && stays.erase(event.address) == 0) releases.push_back(event);
  }
  window.insert(window.end(), releases.begin(), releases.end());
  for (std::size_t i = 0; i < restore.size();) {
    const std::size_t end = end_of_group(restore, i);
    const auto kept = stays.find(restore[i].address);
    const bool about_one_that_stays =
        kept != stays.end() && i >= kept->second &&
        (restore[i].type == EventType::allocation || restore[i].type == EventType::name);
    if (about_one_that_stays) {
      const auto group = restore.subspan(i, end - i);
      window.insert(window.end(), group.begin(), group.end());
    }
    i = end;
  }
}

/// Returns the events from `setup` to the end of the second call. Of each restore, only the net effect is
/// kept.
std::vector<Event> peak_window(std::span<const Event> events) {
  std::vector<Event> window;
  window.reserve(events.size());
  auto at = std::find_if(events.begin(), events.end(),
                         [](const Event& event) { return marks(event, phase::set_up); });
  const auto end = std::find_if(at, events.end(), marks_end_of_window);
  while (at != end) {
    const auto restore =
        std::find_if(at, end, [](const Event& event) { return marks(event, phase::restore); });
    window.insert(window.end(), at, restore);
    if (restore == end) break;
    const auto after =
        std::find_if(restore + 1, end, [](const Event& event) { return event.type == EventType::phase; });
    window.push_back(*restore);
    append_net(window, {restore + 1, after});
    at = after;
  }
  return window;
}

const PhaseSummary* find_phase(const LedgerSummary& summary, std::string_view name) {
  const auto found = std::find_if(summary.phases.begin(), summary.phases.end(),
                                  [&](const PhaseSummary& phase) { return phase.name == name; });
  return found == summary.phases.end() ? nullptr : &*found;
}

Size grown_in(const LedgerSummary& summary, std::string_view phase_name) {
  const PhaseSummary* phase = find_phase(summary, phase_name);
  return phase == nullptr ? 0 : phase->live_at_end_bytes - phase->live_at_start_bytes;
}

}  // namespace

MemoryPass record_of_pass(std::span<const Event> events, const CallChain* call_chain) {
  const std::vector<Event> window = peak_window(events);
  const LedgerSummary summary = summarise(window);
  MemoryPass record = to_memory_pass(summary);
  Size first_call_peak_bytes = 0;
  for (const PhaseSummary& phase : summary.phases) {
    if (phase.name == phase::restore || phase.name == phase::call_2) break;
    first_call_peak_bytes = std::max(first_call_peak_bytes, phase.peak_bytes);
  }
  record.first_call_peak_bytes = first_call_peak_bytes;
  record.setup_bytes = grown_in(summary, phase::set_up);
  record.input_bytes = grown_in(summary, phase::inputs);
  record.output_bytes = grown_in(summary, phase::outputs);
  if (call_chain != nullptr) add_sequence(record, window, *call_chain);
  return record;
}

Size live_after(std::span<const Event> events) {
  return summarise(events).live_at_end_bytes;
}

}  // namespace peakmark
