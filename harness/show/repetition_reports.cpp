#include "show/repetition_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "base/text_table.hpp"
#include "profile/call_sites.hpp"
#include "show/elf_symbols.hpp"

namespace peakmark {
namespace {

using Align = TextTable::Align;

/// Of the growth with this verdict.
Size total_bytes(const RepeatedPhase& phase, GrowthVerdict verdict) {
  Size bytes = 0;
  for (const Growth& one : phase.growth) bytes += one.verdict == verdict ? one.bytes : 0;
  return bytes;
}

/// Null unless each leak has the same bytes in each repetition.
std::optional<Size> leaked_per_repetition(const RepeatedPhase& phase) {
  Size bytes = 0;
  for (const Growth& one : phase.growth) {
    if (one.verdict != GrowthVerdict::leak) continue;
    if (!one.bytes_per_repetition) return std::nullopt;
    bytes += *one.bytes_per_repetition;
  }
  return bytes;
}

std::string with_bytes(Size bytes) {
  return bytes < 1024 ? format_size(bytes) : fmt::format("{} ({} B)", format_size(bytes), bytes);
}

std::string growth_table(const RepeatedPhase& phase) {
  constexpr std::size_t kMaxRows = 20;
  const TextTable columns({{"  verdict"},
                           {"name"},
                           {"kind"},
                           {"phase"},
                           {"bytes each time", Align::right},
                           {"bytes", Align::right},
                           {"", Align::right},
                           {"times", Align::right},
                           {"where"}});
  return first_rows(columns, kMaxRows, phase.growth, [&](TextTable& table, const Growth& one) {
    table.add({"  " + std::string(to_string(one.verdict)), one.name.empty() ? "(unnamed)" : one.name,
               to_string(one.kind), one.phase.empty() ? "(no phase)" : one.phase,
               one.bytes_per_repetition ? std::to_string(*one.bytes_per_repetition) : "–",
               std::to_string(one.bytes), format_size(one.bytes),
               fmt::format("{} of {}", one.repetitions, phase.repetitions.size() - 1),
               one.where.empty() ? "(no stack recorded)" : own_lines(one.where)});
  });
}

}  // namespace

std::optional<std::vector<RepeatedPhase>> find_repetitions(const RecordedProcess& process) {
  if (is_folded(process.events)) return std::nullopt;
  ElfSymbols symbols(process.header.start_realtime_ns);
  return find_repetitions(process.events, {.is_settled = releases_at_once(process.header),
                                           .symbols = [&](const std::string& file, std::uint64_t offset) {
                                             return symbols.function(file, offset);
                                           }});
}

std::string verdict_text(const RepeatedPhase& phase) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (phase.has_leak()) {
    const std::optional<Size> each = leaked_per_repetition(phase);
    add(each ? fmt::format("leak: {} each time", with_bytes(*each))
             : fmt::format("leak: {} in all", with_bytes(total_bytes(phase, GrowthVerdict::leak))));
  }
  if (const Size drift = phase.peak_drift_bytes.value_or(0); drift > 0) {
    const std::size_t steps = phase.repetitions.size() - phase.repetitions.size() / 2;
    add(fmt::format("the peak drifts: +{} in the last {} repetitions", with_bytes(drift), steps));
  }
  if (const Size bytes = total_bytes(phase, GrowthVerdict::unsettled); bytes > 0) {
    add(
        fmt::format("{} released after the last repetition, by the program or by a device that was behind: "
                    "record with --sync",
                    with_bytes(bytes)));
  }
  if (const Size bytes = total_bytes(phase, GrowthVerdict::undecided); bytes > 0)
    add(fmt::format("grew late by {}: repeat it more often", with_bytes(bytes)));
  if (!text.empty()) return text;
  const Size warm_up = total_bytes(phase, GrowthVerdict::warm_up);
  return warm_up > 0 ? fmt::format("steady after a warm-up of {}", with_bytes(warm_up)) : "steady";
}

std::string growth_text(const std::vector<RepeatedPhase>& phases) {
  std::string text;
  for (const RepeatedPhase& one : phases) {
    if (one.growth.empty()) continue;
    text += (text.empty() ? "" : "\n") +
            fmt::format("left behind by repetitions of {}\n", one_line(one.phase)) + growth_table(one);
  }
  return text;
}

std::string repetitions_text(const std::vector<RepeatedPhase>& phases) {
  if (phases.empty()) return {};
  TextTable table({{"  phase"},
                   {"times", Align::right},
                   {"live after the first", Align::right},
                   {"after the last", Align::right},
                   {"peak of the last", Align::right},
                   {"verdict"}});
  for (const RepeatedPhase& one : phases) {
    const Repetition& last = one.repetitions.back();
    table.add({"  " + one.phase, std::to_string(one.repetitions.size()),
               format_size(one.repetitions.front().live_after_bytes), format_size(last.live_after_bytes),
               format_size(last.peak_bytes), verdict_text(one)});
  }
  const std::string details = growth_text(phases);
  return "repeated phases\n" + table.text() + (details.empty() ? "" : "\n" + details);
}

nlohmann::ordered_json repetitions_json(const std::vector<RepeatedPhase>& phases) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](std::optional<Size> bytes) { return bytes ? Json(*bytes) : Json(nullptr); };
  Json list = Json::array();
  for (const RepeatedPhase& phase : phases) {
    Json before = Json::array();
    Json after = Json::array();
    Json peaks = Json::array();
    for (const Repetition& one : phase.repetitions) {
      before.push_back(one.live_before_bytes);
      after.push_back(one.live_after_bytes);
      peaks.push_back(one.peak_bytes);
    }
    Json growth = Json::array();
    for (const Growth& one : phase.growth) {
      growth.push_back({{"verdict", to_string(one.verdict)},
                        {"name", one.name},
                        {"kind", to_string(one.kind)},
                        {"phase", one.phase},
                        {"where", one.where.empty() ? Json(nullptr) : Json(one.where)},
                        {"site", one.where.empty() ? Json(nullptr) : Json(own_lines(one.where))},
                        {"bytes", one.bytes},
                        {"bytes_per_repetition", or_null(one.bytes_per_repetition)},
                        {"repetitions", one.repetitions}});
    }
    list.push_back({{"phase", phase.phase},
                    {"times", phase.repetitions.size()},
                    {"verdict", verdict_text(phase)},
                    {"fails", phase.fails()},
                    {"live_before_bytes", std::move(before)},
                    {"live_after_bytes", std::move(after)},
                    {"peak_bytes", std::move(peaks)},
                    {"peak_drift_bytes", or_null(phase.peak_drift_bytes)},
                    {"growth", std::move(growth)}});
  }
  return list;
}

}  // namespace peakmark
