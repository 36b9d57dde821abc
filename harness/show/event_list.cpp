#include <fmt/format.h>

#include <array>
#include <ostream>
#include <string>

#include "show/profile_reports.hpp"

namespace peakmark {
namespace {

const char* name_of(EventType type) {
  constexpr std::array<const char*, 9> names{"?",     "allocation", "failed", "release", "name",
                                             "phase", "text",       "pool",   "note"};
  const auto number = static_cast<std::size_t>(type);
  return number < names.size() ? names.at(number) : "?";
}

}  // namespace

void write_events(const RecordedTree& tree, std::ostream& out) {
  for (const RecordedProcess& process : tree.processes) {
    if (tree.processes.size() > 1) out << fmt::format("# pid {}\n", process.header.pid);
    for (std::size_t i = 0; i < process.events.size(); ++i) {
      const Event& event = process.events[i];
      if (event.type == EventType::text) continue;
      const double seconds = static_cast<double>(event.time_ns - process.header.start_monotonic_ns) * 1e-9;
      out << fmt::format("{:12.6f} {:7} {:<10} {:#018x} ", seconds, event.thread, name_of(event.type),
                         event.address);
      switch (event.type) {
        case EventType::allocation:
        case EventType::pool:
          out << fmt::format("{:<15} {}\n", name_of(event.kind), event.amounts.bytes);
          break;
        case EventType::failed_allocation:
          out << fmt::format("{:<15} {} error {}\n", name_of(event.kind), event.amounts.bytes,
                             event.amounts.result);
          break;
        case EventType::name:
        case EventType::phase:
        case EventType::note:
          out << text_of(process.events, i) << '\n';
          break;
        default:
          out << '\n';
      }
    }
  }
}

}  // namespace peakmark
