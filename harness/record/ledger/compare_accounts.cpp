#include "record/ledger/compare_accounts.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "record/ledger/ledger.hpp"

namespace peakmark {
namespace {

MemoryKind merged(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::pitched:
    case MemoryKind::physical:
      return MemoryKind::device;
    case MemoryKind::host_registered:
    case MemoryKind::host_mapped:
    case MemoryKind::host_write_combined:
      return MemoryKind::host_pinned;
    default:
      return kind;
  }
}

struct Account {
  std::vector<Event> events;
  std::map<std::tuple<std::uint64_t, std::int64_t, MemoryKind>, std::int64_t> allocations;
};

Account account_of(std::span<const Event> events) {
  Account account;
  for (Event event : events) {
    if (event.type != EventType::allocation && event.type != EventType::release) continue;
    if (event.kind == MemoryKind::module_globals) continue;  // records list each variable separately
    event.kind = merged(event.kind);
    if (event.type == EventType::allocation) {
      ++account.allocations[{event.address, event.amounts.bytes, event.kind}];
    }
    account.events.push_back(event);
  }
  return account;
}

}  // namespace

std::vector<std::string> compare_accounts(std::span<const Event> callbacks, std::span<const Event> records) {
  const Account one = account_of(callbacks);
  const Account other = account_of(records);
  const LedgerSummary first = summarise(one.events);
  const LedgerSummary second = summarise(other.events);
  std::vector<std::string> differences;
  const auto compare = [&](const std::string& what, std::int64_t a, std::int64_t b) {
    if (a != b) differences.push_back(fmt::format("{}: callbacks {}, records {}", what, a, b));
  };
  compare("peak bytes", first.peak_bytes, second.peak_bytes);
  compare("bytes live at the end", first.live_at_end_bytes, second.live_at_end_bytes);
  compare("bytes in all", first.total_bytes, second.total_bytes);
  compare("allocations", first.allocations, second.allocations);
  std::set<MemoryKind> kinds;
  for (const auto& [kind, summary] : first.by_kind) kinds.insert(kind);
  for (const auto& [kind, summary] : second.by_kind) kinds.insert(kind);
  const auto of = [](const LedgerSummary& summary, MemoryKind kind) {
    const auto found = summary.by_kind.find(kind);
    return found == summary.by_kind.end() ? KindSummary{} : found->second;
  };
  for (const MemoryKind kind : kinds) {
    compare(fmt::format("peak bytes of {}", to_string(kind)), of(first, kind).peak_bytes,
            of(second, kind).peak_bytes);
    compare(fmt::format("allocations of {}", to_string(kind)), of(first, kind).allocations,
            of(second, kind).allocations);
  }
  const auto missing = [&](const Account& from, const Account& in, const char* name) {
    for (const auto& [key, count] : from.allocations) {
      const auto found = in.allocations.find(key);
      const std::int64_t there = found == in.allocations.end() ? 0 : found->second;
      if (there >= count) continue;
      const auto& [address, bytes, kind] = key;
      differences.push_back(fmt::format("{} times only in the {}: {} bytes of {} at {:#x}", count - there,
                                        name, bytes, to_string(kind), address));
    }
  };
  missing(one, other, "callbacks");
  missing(other, one, "records");
  return differences;
}

}  // namespace peakmark
