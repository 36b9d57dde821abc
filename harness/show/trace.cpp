#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <unordered_map>

#include "show/profile_reports.hpp"

namespace peakmark {
namespace {

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Writes one process. Times are microseconds since the first process started.
class TraceWriter {
 public:
  TraceWriter(const RecordedProcess& process, std::int64_t zero_ns, std::ostream& out)
      : process_(process), pid_(process.header.pid), zero_ns_(zero_ns), out_(out) {}

  void write() {
    const std::string name = process_.command_line.empty() ? "?" : process_.command_line.front();
    out_ << fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", pid_,
                        json_text(name));
    collect_names();
    for (std::size_t i = 0; i < process_.events.size(); ++i) step(i);
    end_phase(process_.events.empty() ? zero_ns_ : process_.events.back().time_ns);
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
        out_ << fmt::format(
            ",\n"
            R"({{"ph":"i","s":"p","name":"failed allocation of {} bytes","cat":"memory",)"
            R"("pid":{},"tid":{},"ts":{},"args":{{"kind":"{}","error":{}}}}})",
            event.amounts.bytes, pid_, event.thread, time(event.time_ns), name_of(event.kind),
            event.amounts.result);
        break;
      case EventType::phase:
        end_phase(event.time_ns);
        phase_ = text_of(process_.events, i);
        out_ << fmt::format(
            ",\n"
            R"({{"ph":"B","name":{},"cat":"phase","pid":{},"tid":0,"ts":{}}})",
            json_text(phase_), pid_, time(event.time_ns));
        break;
      default:
        break;
    }
  }

  void begin_span(std::size_t i, const Event& event) {
    const auto name = names_.find(i);
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"b","cat":"{}","id":"{}","name":{},"pid":{},"tid":{},"ts":{},)"
        R"("args":{{"bytes":{},"address":"{:#x}"}}}})",
        name_of(event.kind), i, json_text(name == names_.end() ? name_of(event.kind) : name->second), pid_,
        event.thread, time(event.time_ns), event.amounts.bytes, event.address);
  }

  void release(const Event& event) {
    const auto found = live_.find(event.address);
    if (found == live_.end()) return;
    const Live live = found->second;
    live_.erase(found);
    const auto name = names_.find(live.index);
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"e","cat":"{}","id":"{}","name":{},"pid":{},"tid":{},"ts":{}}})",
        name_of(live.kind), live.index, json_text(name == names_.end() ? name_of(live.kind) : name->second),
        pid_, event.thread, time(event.time_ns));
    count(live.kind, -live.bytes, event.time_ns);
  }

  void count(MemoryKind kind, std::int64_t bytes, std::int64_t time_ns) {
    by_kind_[kind] += bytes;
    const bool counted = counts_into_peak(kind);
    if (counted) requested_ += bytes;
    if (counted) {
      out_ << fmt::format(
          ",\n"
          R"({{"ph":"C","name":"requested bytes","pid":{},"ts":{},"args":{{"live":{}}}}})",
          pid_, time(time_ns), requested_);
    }
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"C","name":"{} bytes","pid":{},"ts":{},"args":{{"live":{}}}}})",
        name_of(kind), pid_, time(time_ns), by_kind_[kind]);
  }

  void end_phase(std::int64_t time_ns) {
    if (phase_.empty()) return;
    out_ << fmt::format(
        ",\n"
        R"({{"ph":"E","cat":"phase","pid":{},"tid":0,"ts":{}}})",
        pid_, time(time_ns));
    phase_.clear();
  }

  [[nodiscard]] std::string time(std::int64_t time_ns) const {
    return fmt::format("{:.3f}", static_cast<double>(time_ns - zero_ns_) * 1e-3);
  }

  const RecordedProcess& process_;
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

void write_trace(const RecordedTree& tree, std::ostream& out) {
  std::int64_t zero_ns = tree.processes.front().header.start_monotonic_ns;
  for (const RecordedProcess& process : tree.processes) {
    zero_ns = std::min(zero_ns, process.header.start_monotonic_ns);
  }
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  bool first = true;
  for (const RecordedProcess& process : tree.processes) {
    if (!first) out << ",\n";
    TraceWriter(process, zero_ns, out).write();
    first = false;
  }
  out << "\n]}\n";
}

}  // namespace peakmark
