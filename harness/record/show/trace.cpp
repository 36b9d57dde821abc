#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/size.hpp"
#include "record/ledger/replay.hpp"
#include "record/ledger/timeline.hpp"
#include "record/show/profile_reports.hpp"

namespace peakmark {
namespace {

/// Returns at most `max` allocations, in the order in which they were made: those live at the first moment of
/// the peak come first, then the largest, then the oldest.
std::vector<Life> largest(std::span<const Event> events, const Lives& lives, std::size_t max) {
  const auto rank = [&](const Life& life) {
    return std::tuple(!lives.is_at_peak(life, events), -events[life.from].amounts.bytes, life.from);
  };
  std::vector<Life> kept = lives.all;
  if (kept.size() <= max) return kept;
  std::ranges::nth_element(kept, kept.begin() + static_cast<std::ptrdiff_t>(max), {}, rank);
  kept.resize(max);
  std::ranges::sort(kept, {}, &Life::from);
  return kept;
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Writes one process. Times are microseconds since the first process started.
class TraceWriter : public ReplayObserver {
 public:
  TraceWriter(const RecordedProcess& process, const TraceOptions& options, std::int64_t zero_ns,
              std::ostream& out)
      : process_(process), options_(options), pid_(process.header.pid), zero_ns_(zero_ns), out_(out) {}

  void write(TraceSummary& summary) {
    const std::string name = process_.command_line.empty() ? "?" : process_.command_line.front();
    out_ << fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", pid_,
                        json_text(name));
    const bool is_thinned = !options_.full && process_.events.size() > options_.max_events;
    if (is_thinned || is_folded(process_.events)) return write_thinned(summary);
    // The beginning of a span contains its name, but an allocation is named later. So all names are found
    // first.
    Lives lives;
    replay(process_.events, lives);
    for (const Life& life : lives.all) {
      if (life.name != SIZE_MAX) names_[life.from] = text_of(process_.events, life.name);
    }
    replay(process_.events, *this);
    end_phase(end_ns());
  }

  void allocated(std::size_t i, const LiveMemory& live) {
    begin_span(i, process_.events[i]);
    count(process_.events[i].kind, live, process_.events[i].time_ns);
  }
  void released(std::size_t i, const LiveEntry& entry, const LiveMemory& live) {
    end_span(entry.index, entry.kind, process_.events[i]);
    count(entry.kind, live, process_.events[i].time_ns);
  }
  void other(std::size_t i, const LiveMemory& /*live*/) {
    const Event& event = process_.events[i];
    if (event.type == EventType::failed_allocation) fail(event);
    if (event.type != EventType::phase) return;
    end_phase(event.time_ns);
    phase_ = text_of(process_.events, i);
    begin_phase(phase_, event.time_ns);
  }

 private:
  /// Writes a few counters and spans that represent many events; each part is in the order of time.
  void write_thinned(TraceSummary& summary) {
    const std::span<const Event> events = process_.events;
    Lives lives;
    replay(events, lives);
    const std::vector<Life> spans = largest(events, lives, options_.max_spans);
    const LedgerSummary ledger = summarise(events);
    summary.thinned = true;
    if (is_folded(process_.events)) {
      for (const auto& [kind, one] : ledger.by_kind)
        summary.allocations += static_cast<std::size_t>(one.allocations);
    } else {
      summary.allocations += lives.all.size();
    }
    summary.spans += spans.size();
    for (const LivePoint& point : live_over_time(events, options_.max_points)) {
      counter("requested", point.time_ns, point.live_bytes);
    }
    for (const auto& [kind, unused] : ledger.by_kind) {
      for (const LivePoint& point : live_over_time(events, options_.max_points, kind)) {
        counter(to_string(kind), point.time_ns, point.live_bytes);
      }
    }
    for (const Life& life : spans) {
      const Event& allocation = events[life.from];
      if (life.name != SIZE_MAX) names_[life.from] = text_of(events, life.name);
      begin_span(life.from, allocation);
      if (life.to != SIZE_MAX) end_span(life.from, allocation.kind, events[life.to]);
    }
    write_long_phases(ledger, summary);
    std::size_t failures = 0;
    for (const Event& event : events) {
      if (event.type == EventType::failed_allocation && ++failures <= options_.max_failures) fail(event);
    }
    summary.failures_left_out += failures - std::min(failures, options_.max_failures);
  }

  void write_long_phases(const LedgerSummary& ledger, TraceSummary& summary) {
    const auto& phases = ledger.phases;
    const std::int64_t shortest =
        phases.size() <= options_.max_phases
            ? 0
            : (end_ns() - phases.front().start_time_ns) / static_cast<std::int64_t>(options_.max_phases);
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const std::int64_t to = i + 1 < phases.size() ? phases[i + 1].start_time_ns : end_ns();
      if (phases[i].name.empty()) continue;
      if (to - phases[i].start_time_ns < shortest) {
        ++summary.phases_left_out;
        continue;
      }
      phase_ = phases[i].name;
      begin_phase(phase_, phases[i].start_time_ns);
      end_phase(to);
    }
  }

  void fail(const Event& event) {
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"i","s":"p","name":"failed allocation of {} bytes","cat":"memory",)"
        R"("pid":{},"tid":{},"ts":{},"args":{{"kind":"{}","error":{}}}}})",
        event.amounts.bytes, pid_, event.thread, time(event.time_ns), to_string(event.kind),
        event.amounts.result);
  }

  void begin_phase(const std::string& name, std::int64_t time_ns) {
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"B","name":{},"cat":"phase","pid":{},"tid":0,"ts":{}}})",
        json_text(name), pid_, time(time_ns));
  }

  [[nodiscard]] std::string name_of_span(std::size_t i, MemoryKind kind) const {
    const auto name = names_.find(i);
    return json_text(name == names_.end() ? to_string(kind) : name->second);
  }

  void begin_span(std::size_t i, const Event& event) {
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"b","cat":"{}","id":"{}","name":{},"pid":{},"tid":{},"ts":{},)"
        R"("args":{{"bytes":{},"address":"{:#x}"}}}})",
        to_string(event.kind), i, name_of_span(i, event.kind), pid_, event.thread, time(event.time_ns),
        event.amounts.bytes, event.address);
  }

  void end_span(std::size_t i, MemoryKind kind, const Event& release) {
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"e","cat":"{}","id":"{}","name":{},"pid":{},"tid":{},"ts":{}}})",
        to_string(kind), i, name_of_span(i, kind), pid_, release.thread, time(release.time_ns));
  }

  void count(MemoryKind kind, const LiveMemory& live, std::int64_t time_ns) {
    if (counts_into_peak(kind)) counter("requested", time_ns, live.bytes());
    counter(to_string(kind), time_ns, live.bytes(kind));
  }

  void counter(const char* what, std::int64_t time_ns, std::int64_t bytes) {
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"C","name":"{} bytes","pid":{},"ts":{},"args":{{"live":{}}}}})",
        what, pid_, time(time_ns), bytes);
  }

  void end_phase(std::int64_t time_ns) {
    if (phase_.empty()) return;
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"E","cat":"phase","pid":{},"tid":0,"ts":{}}})",
        pid_, time(time_ns));
    phase_.clear();
  }

  [[nodiscard]] std::int64_t end_ns() const {
    return process_.events.empty() ? zero_ns_ : process_.events.back().time_ns;
  }

  [[nodiscard]] std::string time(std::int64_t time_ns) const {
    return fmt::format("{:.3f}", static_cast<double>(time_ns - zero_ns_) * 1e-3);
  }

  const RecordedProcess& process_;
  const TraceOptions& options_;
  std::int32_t pid_;
  std::int64_t zero_ns_;
  std::ostream& out_;
  std::unordered_map<std::size_t, std::string> names_;  ///< by index of the allocation
  std::string phase_;
};

}  // namespace

TraceSummary write_trace(const RecordedTree& tree, const TraceOptions& options, std::ostream& out) {
  std::int64_t zero_ns = tree.processes.front().header.start_monotonic_ns;
  for (const RecordedProcess& process : tree.processes) {
    zero_ns = std::min(zero_ns, process.header.start_monotonic_ns);
  }
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  TraceSummary summary;
  bool first = true;
  for (const RecordedProcess& process : tree.processes) {
    if (!first) out << ",\n";
    TraceWriter(process, options, zero_ns, out).write(summary);
    first = false;
  }
  out << "\n]";
  if (summary.thinned) {
    out << fmt::format(
        R"(,"otherData":{{"thinned":true,"allocations":{},"spans":{},"phases_left_out":{},"failures_left_out":{}}})",
        summary.allocations, summary.spans, summary.phases_left_out, summary.failures_left_out);
  }
  out << "}\n";
  return summary;
}

}  // namespace peakmark
