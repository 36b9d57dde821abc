#include "measure/check/baseline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "measure/compare/moved_allocations.hpp"
#include "measure/runfile/observation_json.hpp"
#include "measure/runfile/run_summary.hpp"

namespace peakmark {

namespace {

using json_fields::Json;

constexpr const char* kVersionKey = "peakmark_baseline";

/// The fields of an observation that a baseline has.
template <EitherConst<Observation> T, typename Fields>
void for_each_baseline_field(T& observation, Fields& fields) {
  fields("case", observation.case_name);
  fields.written_if("version", observation.version, observation.version != 1);
  fields("outcome", observation.outcome);
  fields.bytes("requested_peak_bytes", observation.requested_peak_bytes);
  fields.bytes("setup_bytes", observation.setup_bytes);
  fields("at_peak", observation.at_peak);
}

std::string case_line(const Observation& observation) {
  json_fields::FieldWriter fields(6);
  for_each_baseline_field(observation, fields);
  return json_fields::one_line(fields.take());
}

void check_version(const Json& json) {
  int version = 0;
  json_fields::field(json, kVersionKey, version);
  if (version == format::kBaseline.major) return;
  throw UsageError(
      fmt::format("unsupported baseline version: {}, this peakmark reads {}; remove it, and write a new one "
                  "with --update-baseline",
                  version, format::kBaseline.major));
}

void sort_entries(std::vector<PeakEntry>& entries) {
  std::ranges::sort(entries, {},
                    [](const PeakEntry& one) { return std::tie(one.name, one.kind, one.bytes); });
}

void read_line(const Json& json, Baseline& baseline) {
  Observation one;
  json_fields::FieldReader fields(json);
  for_each_baseline_field(one, fields);
  sort_entries(one.at_peak);
  const std::string name = one.case_name;
  if (!baseline.cases.emplace(name, std::move(one)).second)
    throw UsageError(fmt::format("duplicate case: {}", name));
}

bool is_baseline(const std::string& text) {
  const Json first = Json::parse(text.substr(0, text.find('\n')), nullptr, false);
  return first.is_object() && first.contains(kVersionKey);
}

/// Reads the baseline that will be updated; empty if there is none yet.
Baseline read_earlier(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none) || std::filesystem::file_size(path, none) == 0) return {};
  const std::string text = read_text_file(path);
  if (!is_baseline(text)) {
    throw UsageError(fmt::format(
        "{}: not a baseline, and not replaced; name another file, or remove this one", path.string()));
  }
  try {
    return parse_baseline(text);
  } catch (const UsageError& error) {
    throw UsageError(
        fmt::format("{}: {}; not replaced, since cases that were not measured would be lost: correct it, or "
                    "remove it and write a new one",
                    path.string(), error.what()));
  }
}

void check_complete(const Run& run) {
  if (run.context.complete) return;
  throw UsageError(
      "incomplete run: a baseline needs all of its cases; finish it with `peakmark run --resume`");
}

Observation baseline_case(const Observation& observation) {
  Observation one;
  one.case_name = observation.case_name;
  one.version = observation.version;
  one.outcome = observation.outcome;
  one.requested_peak_bytes = observation.requested_peak_bytes;
  one.setup_bytes = observation.setup_bytes;
  one.at_peak = observation.at_peak;
  sort_entries(one.at_peak);
  return one;
}

bool has_bytes(const Observation& observation) {
  return observation.outcome == Outcome::ok && observation.requested_peak_bytes;
}

/// Adds an observation to a baseline. If it has no bytes, those of the baseline stay.
void merge(const Observation& observation, Baseline& baseline, BaselineUpdate& update) {
  Observation now = baseline_case(observation);
  const auto [known, is_new] = baseline.cases.try_emplace(observation.case_name, now);
  if (is_new) ++update.added;
  const std::string before = case_line(known->second);
  if (case_line(now) == before) return;
  if (!has_bytes(observation)) {
    const bool is_ok = observation.outcome == Outcome::ok;
    update.not_measured.push_back(
        fmt::format("{} ({})", observation.case_name, is_ok ? "no peak" : to_string(observation.outcome)));
    return;
  }
  if (!now.setup_bytes && now.version == known->second.version) now.setup_bytes = known->second.setup_bytes;
  if (case_line(now) == before) return;
  ++update.changed;
  known->second = std::move(now);
}

/// Returns the options that left out cases of the suite, such as `--filter 'n:2' --shard 1/4`; empty if the
/// run has all cases of its backend.
std::string limits_text(const RunContext& context) {
  std::vector<std::string> limits;
  if (context.filter) limits.push_back("--filter " + shell_word(*context.filter));
  if (context.rounds && context.rounds->variants) {
    const auto& [old_variant, new_variant] = *context.rounds->variants;
    limits.push_back(fmt::format("--variants {} {}", shell_word(old_variant), shell_word(new_variant)));
  }
  if (context.shard)
    limits.push_back(fmt::format("--shard {}/{}", context.shard->index, context.shard->count));
  return fmt::format("{}", fmt::join(limits, " "));
}

/// The parts of suites that runs have.
struct Coverage {
  std::set<std::string_view> planned;
  std::set<std::string_view> backends;  ///< given with `run --backend`; empty: the backends of the suites
  bool is_limited = false;

  explicit Coverage(std::span<const Run> runs) {
    bool has_all_backends = false;
    for (const Run& run : runs) {
      for (const PlannedCase& one : run.context.planned) planned.insert(one.name);
      is_limited = is_limited || !limits_text(run.context).empty();
      if (run.context.asked_backend) backends.insert(*run.context.asked_backend);
      has_all_backends = has_all_backends || !run.context.asked_backend;
    }
    if (has_all_backends) backends.clear();
  }

  /// Returns true for a case that the runs would have if their suites had it.
  [[nodiscard]] bool covers(std::string_view case_name) const {
    return !is_limited && (backends.empty() || backends.contains(case_backend(case_name)));
  }
};

}  // namespace

Baseline make_baseline(const Run& run) {
  check_complete(run);
  Baseline baseline;
  for (const Observation& observation : run.observations)
    baseline.cases.emplace(observation.case_name, baseline_case(observation));
  return baseline;
}

std::string baseline_text(const Baseline& baseline) {
  std::string text = json_fields::one_line(Json{{kVersionKey, format::kBaseline.major}}) + "\n";
  for (const auto& [name, sweep_case] : baseline.cases) text += case_line(sweep_case) + "\n";
  return text;
}

Baseline parse_baseline(std::string_view text) {
  Baseline baseline;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    try {
      if (number == 1) {
        check_version(Json::parse(line));
      } else if (line.find_first_not_of(" \t\r") != std::string::npos) {
        read_line(Json::parse(line), baseline);
      }
    } catch (const Json::exception& error) {
      throw UsageError(fmt::format("line {}: {}", number, json_fields::message_of(error)));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("line {}: {}", number, error.what()));
    }
  }
  return baseline;
}

Baseline read_baseline(const std::filesystem::path& path) {
  const std::string text = read_text_file(path);
  try {
    if (is_baseline(text)) return parse_baseline(text);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", path.string(), error.what()));
  }
  const Run run = read_run(path);  // its errors name the file
  try {
    return make_baseline(run);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

void check_can_prune(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    const std::string limits = limits_text(run.context);
    if (limits.empty()) continue;
    throw UsageError(
        fmt::format("--prune: this run is of a part of the suite ({}), so which cases the suite no longer "
                    "has is unknown; {}",
                    limits,
                    run.context.shard ? "merge the shards with `peakmark merge`"
                                      : "run the whole suite, or leave --prune out"));
  }
}

BaselineUpdate update_baseline(const std::vector<Run>& runs, const std::filesystem::path& path, bool prune) {
  if (prune) check_can_prune(runs);
  check_replaceable(path);
  Baseline baseline = read_earlier(path);
  BaselineUpdate update;
  const Coverage coverage(runs);
  std::set<std::string_view> seen;
  for (const Run& run : runs) {
    check_complete(run);
    for (const Observation& observation : run.observations) {
      if (!seen.insert(observation.case_name).second) {
        throw UsageError(
            fmt::format("--update-baseline: two runs have the case {}; name runs of different cases",
                        observation.case_name));
      }
      if (has_bytes(observation)) ++update.measured;
      merge(observation, baseline, update);
    }
  }
  for (auto one = baseline.cases.begin(); one != baseline.cases.end();) {
    const bool is_covered = coverage.covers(one->first);
    const bool is_kept = coverage.planned.contains(one->first) || !is_covered || !prune;
    if (!coverage.planned.contains(one->first))
      (is_covered ? update.not_in_suite : update.not_in_run).push_back(one->first);
    one = is_kept ? std::next(one) : baseline.cases.erase(one);
  }
  update.cases = baseline.cases.size();
  if (update.measured > 0) replace_text_file(path, baseline_text(baseline));
  return update;
}

namespace {

constexpr std::string_view kAdvice = "; if this is intended, run check with --update-baseline";
constexpr std::string_view kVanished =
    "vanished: in the baseline, but not in the suite; if this is intended, run check with --update-baseline "
    "--prune";

/// Returns ` (--filter 'n:2' --backend dry)`.
std::string part_text(const RunContext& context) {
  std::string text = limits_text(context);
  if (context.asked_backend)
    text += fmt::format("{}--backend {}", text.empty() ? "" : " ", shell_word(*context.asked_backend));
  return fmt::format(" ({})", text);
}

/// A figure of a case that is known in the baseline and now.
struct Figure {
  bool is_peak;  ///< else setup
  Size base;
  Size now;
  /// Of the memory pass that is closest to the base: bytes that only one pass has are no change.
  Size steady;

  [[nodiscard]] std::string text() const {
    return fmt::format("{} {} bytes instead of {}, {} {}", is_peak ? "peak" : "setup", now, base,
                       now > base ? now - base : base - now, now > base ? "more" : "fewer");
  }
};

std::vector<Figure> changed_figures(const Observation& base, const Observation& now) {
  std::vector<Figure> figures;
  const auto add = [&](bool is_peak, std::optional<Size> before, std::optional<Size> after,
                       std::optional<Size> second_pass) {
    if (!before || !after || *before == *after) return;
    const auto [low, high] = std::minmax({*after, second_pass.value_or(*after)});
    figures.push_back({is_peak, *before, *after, std::clamp(*before, low, high)});
  };
  add(true, base.requested_peak_bytes, now.requested_peak_bytes, now.second_pass_peak_bytes);
  add(false, base.setup_bytes, now.setup_bytes, std::nullopt);
  return figures;
}

std::string moved_text(const Observation& base, const Observation& now) {
  constexpr std::size_t kMaxMoved = 8;
  const std::vector<MovedAllocations> moved = moved_allocations(base.at_peak, now.at_peak);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxMoved, moved.size()); ++i) text += "; " + in_words(moved[i]);
  if (moved.size() > kMaxMoved) text += fmt::format("; and {} more", moved.size() - kMaxMoved);
  return text;
}

Verdict judge_case(const PlannedCase& planned, const Observation& base, const Observation& now,
                   const GrowthAllowance& allowed) {
  Verdict verdict{now.case_name, Rule::baseline, Judgement::pass, "", std::nullopt, std::nullopt, ""};
  const bool was_ok = base.outcome == Outcome::ok;
  const bool is_ok = now.outcome == Outcome::ok;
  if (!is_ok) {
    // A crash is reported by the rule `outcome`.
    const bool is_skipped = end_of(planned, now) == CaseEnd::skipped;
    if (is_skipped && is_worse(level_of(planned, base.outcome), level_of(planned, now.outcome))) {
      verdict.judgement = Judgement::fail;
      verdict.advice =
          fmt::format("{} now, {} in the baseline", to_string(now.outcome), to_string(base.outcome));
    }
    return verdict;
  }
  if (!was_ok) {
    verdict.judgement = Judgement::warning;
    verdict.advice = fmt::format("ok now: {} in the baseline{}", to_string(base.outcome), kAdvice);
    return verdict;
  }
  if ((base.requested_peak_bytes && !now.requested_peak_bytes) || (base.setup_bytes && !now.setup_bytes)) {
    verdict.judgement = Judgement::failed_measurement;
    verdict.advice =
        "not compared: peak or setup is unknown now, and known in the baseline; see `peakmark doctor`";
    return verdict;
  }
  if (base.requested_peak_bytes && now.requested_peak_bytes) {
    verdict.figure = static_cast<double>(*now.requested_peak_bytes - *base.requested_peak_bytes);
  }
  const std::vector<Figure> figures = changed_figures(base, now);
  if (figures.empty()) return verdict;
  const Limits& limits = planned.limits;
  std::string text;
  bool grew = false, is_over_option = false, grew_too_far = false, is_unsteady = false, is_too_small = false;
  for (const Figure& one : figures) {
    text += (text.empty() ? "" : "; ") + one.text();
    grew = grew || one.steady > one.base;
    is_unsteady = is_unsteady || (one.now > one.base && one.steady == one.base);
    const bool is_over = allowed.is_exceeded(one.base, one.steady);
    is_over_option = is_over_option || is_over;
    grew_too_far = grew_too_far || (is_over && !limits.covers_growth(one.base, one.steady));
    is_too_small = is_too_small || (one.is_peak && limits.shrank_too_far(one.base, one.steady));
  }
  text += moved_text(base, now);
  verdict.judgement = grew_too_far || is_too_small ? Judgement::fail : Judgement::warning;
  std::string what = "shrank: ";
  if (grew_too_far) {
    what = "grew: ";
  } else if (is_too_small) {
    what = fmt::format("shrank by more than allow_shrinking ({}): ", limits.shrinking->text);
  } else if (grew) {
    what = is_over_option
               ? fmt::format("allowed growth: {} (allow_growth of the suite): ", limits.growth->text)
               : allowed.note() + ": ";
  } else if (is_unsteady) {
    what = "unsteady: in one memory pass, ";
  }
  verdict.advice = what + text + std::string(kAdvice);
  return verdict;
}

}  // namespace

std::vector<Verdict> judge_baseline(const Run& run, const Baseline& baseline,
                                    const GrowthAllowance& allowed) {
  const auto observations = by_name(run);
  const Coverage coverage({&run, 1});
  std::vector<Verdict> verdicts;
  bool has_common = false;
  for (const PlannedCase& sweep_case : run.context.planned) {
    const auto found = baseline.cases.find(sweep_case.name);
    const auto observed = observations.find(sweep_case.name);
    has_common = has_common || found != baseline.cases.end();
    if (found == baseline.cases.end()) {
      verdicts.push_back({sweep_case.name, Rule::baseline, Judgement::warning, "", std::nullopt, std::nullopt,
                          fmt::format("new: not in the baseline{}", kAdvice), BaselineMatch::none});
    } else if (found->second.version != sweep_case.version) {
      verdicts.push_back({sweep_case.name, Rule::baseline, Judgement::warning, "", std::nullopt, std::nullopt,
                          fmt::format("not compared: {}{}",
                                      new_series_text(found->second.version, sweep_case.version), kAdvice),
                          BaselineMatch::other_version});
    } else if (observed != observations.end()) {
      verdicts.push_back(judge_case(sweep_case, found->second, *observed->second, allowed));
    }
  }
  if (!has_common && !coverage.planned.empty()) {
    throw UsageError(
        fmt::format("no case in common with the baseline: is it of another suite, or of another backend than "
                    "{}?",
                    run.context.backend));
  }
  const std::string kept_out =
      "not in this run, which measured only a part of the suite" + part_text(run.context);
  for (const auto& [name, sweep_case] : baseline.cases) {
    if (coverage.planned.contains(name)) continue;
    verdicts.push_back({name, Rule::baseline, Judgement::skipped, "", std::nullopt, std::nullopt,
                        coverage.covers(name) ? std::string(kVanished) : kept_out});
  }
  return verdicts;
}

bool is_uncompared(const std::vector<Verdict>& verdicts) {
  bool has_new_series = false;
  for (const Verdict& one : verdicts) {
    if (one.rule != Rule::baseline) continue;
    if (one.match == BaselineMatch::same && one.judgement != Judgement::skipped) return false;
    has_new_series = has_new_series || one.match == BaselineMatch::other_version;
  }
  return has_new_series;
}

}  // namespace peakmark
