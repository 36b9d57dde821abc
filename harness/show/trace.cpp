#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/size.hpp"
#include "ledger/address_map.hpp"
#include "ledger/timeline.hpp"
#include "show/profile_reports.hpp"

namespace peakmark {
namespace {

/// The life of an allocation, by indices of events.
struct TraceSpan {
  std::size_t allocation = 0;
  std::optional<std::size_t> release;  ///< none: never released
  std::optional<std::size_t> name;     ///< the last mark that named it
};

/// The allocations whose spans a thinned trace has, in the order in which they were made.
struct TraceSpans {
  std::vector<TraceSpan> kept;
  std::size_t allocations = 0;  ///< all of them
};

/// One pass over the events: when each allocation was made and released, and when the peak was.
class AllocationLives {
 public:
  explicit AllocationLives(std::span<const Event> events) : events_(events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (event.type == EventType::allocation) {
        release(event.address, i);  // its release was lost
        map_.insert({event.address, lives_.size(), event.amounts.bytes, event.kind});
        lives_.push_back({i, events.size()});
        count(event.kind, event.amounts.bytes);
        if (live_ <= most_) continue;
        most_ = live_;
        peak_ = i;
      } else if (event.type == EventType::release) {
        release(event.address, i);
      } else if (event.type == EventType::name) {
        if (const LiveEntry* const entry = map_.find(event.address)) names_[entry->index] = i;
      }
    }
  }

  [[nodiscard]] TraceSpans largest(std::size_t max) {
    std::vector<std::size_t> order(lives_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (order.size() > max) {
      std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(max), {},
                               [this](std::size_t i) { return rank(i); });
      order.resize(max);
      std::ranges::sort(order);
    }
    TraceSpans spans;
    spans.allocations = lives_.size();
    for (const std::size_t i : order) {
      TraceSpan span{lives_[i].from, std::nullopt, std::nullopt};
      if (lives_[i].to < events_.size()) span.release = lives_[i].to;
      if (const auto name = names_.find(i); name != names_.end()) span.name = name->second;
      spans.kept.push_back(span);
    }
    return spans;
  }

 private:
  struct Life {
    std::size_t from = 0;
    std::size_t to = 0;  ///< the number of events where it was never released
  };

  void count(MemoryKind kind, Size bytes) {
    if (counts_into_peak(kind)) live_ += bytes;
  }

  void release(std::uint64_t address, std::size_t i) {
    const LiveEntry* const entry = map_.find(address);
    if (entry == nullptr) return;
    lives_[entry->index].to = i;
    count(entry->kind, -entry->bytes);
    map_.erase(address);
  }

  [[nodiscard]] std::tuple<bool, Size, std::size_t> rank(std::size_t i) const {
    const Event& event = events_[lives_[i].from];
    const bool is_at_peak = lives_[i].from <= peak_ && peak_ < lives_[i].to && counts_into_peak(event.kind);
    return {!is_at_peak, -event.amounts.bytes, i};
  }

  std::span<const Event> events_;
  AddressMap map_;  // `index` is a place in lives_
  std::vector<Life> lives_;
  std::unordered_map<std::size_t, std::size_t> names_;  // by place in lives_
  Size live_ = 0;
  Size most_ = 0;
  std::size_t peak_ = 0;
};

/// Returns at most `max` allocations: those live at the first moment of the peak come first, then the
/// largest, then the oldest.
TraceSpans spans_for_trace(std::span<const Event> events, std::size_t max) {
  return AllocationLives(events).largest(max);
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Writes one process. Times are microseconds since the first process started.
class TraceWriter {
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
    collect_names();
    for (std::size_t i = 0; i < process_.events.size(); ++i) step(i);
    end_phase(end_ns());
  }

 private:
  struct Live {
    std::size_t index = 0;
    std::int64_t bytes = 0;
    MemoryKind kind = MemoryKind::none;
  };

  /// A span carries its name at its beginning, and the mark that names it comes later.
  void collect_names() {
    std::unordered_map<std::uint64_t, std::size_t> at;
    for (std::size_t i = 0; i < process_.events.size(); ++i) {
      const Event& event = process_.events[i];
      if (event.type == EventType::allocation) at[event.address] = i;
      if (event.type == EventType::release) at.erase(event.address);
      if (event.type != EventType::name) continue;
      const auto found = at.find(event.address);
      if (found != at.end()) names_[found->second] = text_of(process_.events, i);
    }
  }

  void step(std::size_t i) {
    const Event& event = process_.events[i];
    switch (event.type) {
      case EventType::allocation:
        release(event);
        live_[event.address] = {i, event.amounts.bytes, event.kind};
        begin_span(i, event);
        count(event.kind, event.amounts.bytes, event.time_ns);
        break;
      case EventType::release:
        release(event);
        break;
      case EventType::failed_allocation:
        fail(event);
        break;
      case EventType::phase:
        end_phase(event.time_ns);
        phase_ = text_of(process_.events, i);
        begin_phase(phase_, event.time_ns);
        break;
      default:
        break;
    }
  }

  /// Few counters and spans of many events; each part is in the order of time.
  void write_thinned(TraceSummary& summary) {
    const std::span<const Event> events = process_.events;
    const TraceSpans spans = spans_for_trace(events, options_.max_spans);
    const LedgerSummary ledger = summarise(events);
    summary.thinned = true;
    if (is_folded(process_.events)) {
      for (const auto& [kind, one] : ledger.by_kind)
        summary.allocations += static_cast<std::size_t>(one.allocations);
    } else {
      summary.allocations += spans.allocations;
    }
    summary.spans += spans.kept.size();
    for (const LivePoint& point : live_over_time(events, options_.max_points)) {
      counter("requested", point.time_ns, point.live_bytes);
    }
    for (const auto& [kind, unused] : ledger.by_kind) {
      for (const LivePoint& point : live_over_time(events, options_.max_points, kind)) {
        counter(to_string(kind), point.time_ns, point.live_bytes);
      }
    }
    for (const TraceSpan& span : spans.kept) {
      const Event& allocation = events[span.allocation];
      if (span.name) names_[span.allocation] = text_of(events, *span.name);
      begin_span(span.allocation, allocation);
      if (span.release) end_span(span.allocation, allocation.kind, events[*span.release]);
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

  void release(const Event& event) {
    const auto found = live_.find(event.address);
    if (found == live_.end()) return;
    const Live live = found->second;
    live_.erase(found);
    end_span(live.index, live.kind, event);
    count(live.kind, -live.bytes, event.time_ns);
  }

  void count(MemoryKind kind, std::int64_t bytes, std::int64_t time_ns) {
    by_kind_[kind] += bytes;
    if (counts_into_peak(kind)) {
      requested_ += bytes;
      counter("requested", time_ns, requested_);
    }
    counter(to_string(kind), time_ns, by_kind_[kind]);
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
  std::unordered_map<std::uint64_t, Live> live_;
  std::map<MemoryKind, std::int64_t> by_kind_;
  std::int64_t requested_ = 0;
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
