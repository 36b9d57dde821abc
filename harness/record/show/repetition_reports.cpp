#include "record/show/repetition_reports.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/report.hpp"
#include "base/text.hpp"
#include "record/profile/call_sites.hpp"
#include "record/show/sites.hpp"

namespace peakmark {
namespace {

/// Returns the bytes of the growth with this verdict.
Size total_bytes(const RepeatedPhase& phase, GrowthVerdict verdict) {
  Size bytes = 0;
  for (const Growth& one : phase.growth) bytes += one.verdict == verdict ? one.bytes : 0;
  return bytes;
}

/// Returns null unless each leak has the same bytes in each repetition.
std::optional<Size> leaked_per_repetition(const RepeatedPhase& phase) {
  Size bytes = 0;
  for (const Growth& one : phase.growth) {
    if (one.verdict != GrowthVerdict::leak) continue;
    if (!one.bytes_per_repetition) return std::nullopt;
    bytes += *one.bytes_per_repetition;
  }
  return bytes;
}

Fields<Growth> growth_fields(const RepeatedPhase& phase) {
  const auto times = [count = phase.repetitions.size() - 1](const Growth& one) {
    return fmt::format("{} of {}", one.repetitions, count);
  };
  const auto site = [](const Growth& one) { return one.where.empty() ? one.where : own_lines(one.where); };
  return {{"verdict", As::text, &Growth::verdict, "verdict"},
          {"name", As::text, &Growth::name, "name", "(unnamed)"},
          {"kind", As::text, &Growth::kind, "kind"},
          {"phase", As::text, &Growth::phase, "phase", "(no phase)"},
          {"", As::hidden, unless_empty(&Growth::where), "where"},
          {"bytes each time", As::number, &Growth::bytes_per_repetition, "bytes_per_repetition"},
          {"bytes", As::number, &Growth::bytes, "bytes"},
          {"", As::size, &Growth::bytes},
          {"times", As::figure, times},
          {"where", As::text, unless_empty(site), "site", "(no stack recorded)"},
          {"", As::hidden, &Growth::repetitions, "repetitions"}};
}

const Fields<RepeatedPhase>& repeated_fields() {
  static const auto each = [](Size Repetition::*member) {
    return [member](const RepeatedPhase& phase) {
      std::vector<Size> all;
      for (const Repetition& one : phase.repetitions) all.push_back(one.*member);
      return all;
    };
  };
  static const auto times = [](const RepeatedPhase& phase) { return phase.repetitions.size(); };
  static const auto first = [](const RepeatedPhase& phase) {
    return phase.repetitions.front().live_after_bytes;
  };
  static const auto last = [](Size Repetition::*member) {
    return [member](const RepeatedPhase& phase) { return phase.repetitions.back().*member; };
  };
  static const auto growth = [](const RepeatedPhase& phase) {
    return rows_json(growth_fields(phase), phase.growth);
  };
  static const Fields<RepeatedPhase> fields{
      {"phase", As::text, &RepeatedPhase::phase, "phase"},
      {"times", As::number, times, "times"},
      {"live after the first", As::size, first},
      {"after the last", As::size, last(&Repetition::live_after_bytes)},
      {"peak of the last", As::size, last(&Repetition::peak_bytes)},
      {"verdict", As::text, verdict_text, "verdict"},
      {"", As::hidden, &RepeatedPhase::fails, "fails"},
      {"", As::hidden, each(&Repetition::live_before_bytes), "live_before_bytes"},
      {"", As::hidden, each(&Repetition::live_after_bytes), "live_after_bytes"},
      {"", As::hidden, each(&Repetition::peak_bytes), "peak_bytes"},
      {"", As::hidden, &RepeatedPhase::peak_drift_bytes, "peak_drift_bytes"},
      {"", As::hidden, growth, "growth"}};
  return fields;
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
    add(each ? fmt::format("leak: {} each time", size_with_bytes(*each))
             : fmt::format("leak: {} in all", size_with_bytes(total_bytes(phase, GrowthVerdict::leak))));
  }
  if (const Size drift = phase.peak_drift_bytes.value_or(0); drift > 0) {
    const std::size_t steps = phase.repetitions.size() - phase.repetitions.size() / 2;
    add(fmt::format("the peak drifts: +{} in the last {} repetitions", size_with_bytes(drift), steps));
  }
  if (const Size bytes = total_bytes(phase, GrowthVerdict::unsettled); bytes > 0) {
    add(
        fmt::format("{} released after the last repetition, by the program or by a device that was behind: "
                    "record with --sync",
                    size_with_bytes(bytes)));
  }
  if (const Size bytes = total_bytes(phase, GrowthVerdict::undecided); bytes > 0)
    add(fmt::format("grew late by {}: repeat it more often", size_with_bytes(bytes)));
  if (!text.empty()) return text;
  const Size warm_up = total_bytes(phase, GrowthVerdict::warm_up);
  return warm_up > 0 ? fmt::format("steady after a warm-up of {}", size_with_bytes(warm_up)) : "steady";
}

std::string growth_text(const std::vector<RepeatedPhase>& phases) {
  std::string text;
  for (const RepeatedPhase& one : phases) {
    if (one.growth.empty()) continue;
    text += (text.empty() ? "" : "\n") +
            fmt::format("left behind by repetitions of {}\n", one_line(one.phase)) +
            rows_text(growth_fields(one), one.growth, 20, "  ");
  }
  return text;
}

std::string repetitions_text(const std::vector<RepeatedPhase>& phases) {
  if (phases.empty()) return {};
  const std::string details = growth_text(phases);
  return "repeated phases\n" + rows_text(repeated_fields(), phases, phases.size(), "  ") +
         (details.empty() ? "" : "\n" + details);
}

nlohmann::ordered_json repetitions_json(const std::vector<RepeatedPhase>& phases) {
  return rows_json(repeated_fields(), phases);
}

}  // namespace peakmark
