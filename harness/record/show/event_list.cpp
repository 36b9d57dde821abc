#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "record/show/profile_reports.hpp"

namespace peakmark {
namespace {

const char* to_string(EventType type) {
  constexpr std::array<const char*, 14> names{"?",     "allocation", "failed", "release", "name",
                                              "phase", "text",       "pool",   "note",    "stack",
                                              "work",  "live",       "folded", "device"};
  const auto number = static_cast<std::size_t>(type);
  return number < names.size() ? names.at(number) : "?";
}

const char* folded_name(const Event& event) {
  switch (static_cast<FoldedCount>(event.amounts.result)) {
    case FoldedCount::allocations:
      return to_string(event.kind);
    case FoldedCount::unmatched_releases:
      return "never allocated";
    case FoldedCount::refused_releases:
      return "not released";
  }
  return "?";
}

std::string stack_of(const Event& event) {
  if (event.type == EventType::pool || event.amounts.stack == 0) return "";
  return fmt::format(" stack {:#x}", event.amounts.stack);
}

/// Returns a line of a stack, in which only the tabs are kept unescaped.
std::string with_tabs(std::string_view line) {
  std::string text;
  for (;;) {
    const std::size_t tab = line.find('\t');
    text += one_line(line.substr(0, tab));
    if (tab == std::string_view::npos) return text;
    text += '\t';
    line.remove_prefix(tab + 1);
  }
}

/// Returns the lines of a stack, indented.
std::string stack_lines(const std::string& text) {
  std::string lines = "\n";
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines += "    " + with_tabs(std::string_view(text).substr(from, end - from)) + "\n";
    from = end + 1;
  }
  return lines;
}

}  // namespace

void write_events(const RecordedTree& tree, std::ostream& out) {
  for (const RecordedProcess& process : tree.processes) {
    if (tree.processes.size() > 1) out << fmt::format("# pid {}\n", process.header.pid);
    for (std::size_t i = 0; i < process.events.size(); ++i) {
      const Event& event = process.events[i];
      if (event.type == EventType::text) continue;
      const double seconds = static_cast<double>(event.time_ns - process.header.start_monotonic_ns) * 1e-9;
      out << fmt::format("{:12.6f} {:7} {:<10} {:#018x} ", seconds, event.thread, to_string(event.type),
                         event.address);
      switch (event.type) {
        case EventType::allocation:
        case EventType::pool:
          out << fmt::format("{:<15} {}{}\n", to_string(event.kind), event.amounts.bytes, stack_of(event));
          break;
        case EventType::failed_allocation:
          out << fmt::format("{:<15} {} error {}{}", to_string(event.kind), event.amounts.bytes,
                             event.amounts.result, stack_of(event));
          if (const RefusedBy limit = refused_by(event); limit != RefusedBy::driver)
            out << " by " << to_string(limit);
          if (const std::uint64_t repeats = event.address & kRepeatsMask; repeats != 0)
            out << fmt::format(" {} times", repeats + 1);
          out << '\n';
          break;
        case EventType::name:
        case EventType::phase:
        case EventType::note:
        case EventType::device:
          out << one_line(text_of(process.events, i)) << '\n';
          break;
        case EventType::work:
          out << fmt::format("{} ns\n", event.amounts.bytes);
          break;
        case EventType::live:
          out << fmt::format("{:<15} {:+}\n", to_string(event.kind), event.amounts.bytes);
          break;
        case EventType::folded:
          out << fmt::format("{:<15} {} events, {} bytes\n", folded_name(event), event.amounts.auxiliary,
                             event.amounts.bytes);
          break;
        case EventType::stack:
          out << stack_lines(text_of(process.events, i));
          break;
        default:
          out << '\n';
      }
    }
  }
}

}  // namespace peakmark
