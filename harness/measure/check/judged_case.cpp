#include "measure/check/judged_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "measure/check/baseline.hpp"
#include "measure/runfile/run_summary.hpp"

namespace peakmark {
namespace {

/// Returns ` (2 unsupported, 1 out_of_memory)`, empty if no case has a reason.
std::string reasons_text(const std::map<std::string, std::size_t>& reasons) {
  std::string text;
  for (const auto& [reason, count] : reasons) {
    if (!reason.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, plain_text(reason));
  }
  return text.empty() ? "" : " (" + text + ")";
}

}  // namespace

std::string JudgedCase::variant() const {
  if (planned != nullptr) return planned->sweep_case.variant;
  const std::size_t operation = name.find('/');
  return std::string(
      name.substr(0, operation == std::string_view::npos ? operation : name.find('/', operation + 1)));
}

Judgement JudgedCase::judgement() const {
  const Verdict* verdict = worst();
  return verdict == nullptr ? Judgement::pass : verdict->judgement;
}

const Verdict* JudgedCase::worst() const {
  // A change of bytes is more important than a warning that every run has, such as granularity.
  const auto weight = [](const Verdict* verdict) {
    const bool has_changed = verdict->judgement == Judgement::warning && verdict->rule == Rule::baseline;
    return std::pair(verdict->judgement, has_changed);
  };
  const auto found = std::ranges::max_element(verdicts, {}, weight);
  return found == verdicts.end() || (*found)->judgement == Judgement::pass ? nullptr : *found;
}

std::optional<double> JudgedCase::figure(Rule rule) const {
  const std::string_view own = observation != nullptr && observation->estimate
                                   ? std::string_view(observation->estimate->estimator)
                                   : "";
  for (const Verdict* const verdict : verdicts) {
    if (verdict->rule == rule && (verdict->estimator.empty() || verdict->estimator == own))
      return verdict->figure;
  }
  return std::nullopt;
}

std::vector<JudgedCase> by_case(const Run& run, const std::vector<Verdict>& verdicts) {
  const auto observations = by_name(run);
  std::vector<JudgedCase> cases;
  cases.reserve(run.context.planned.size());
  std::unordered_map<std::string_view, std::size_t> index;
  for (const PlannedCase& planned : run.context.planned) {
    const auto found = observations.find(planned.name);
    index.emplace(planned.name, cases.size());
    cases.push_back({planned.name, &planned, found == observations.end() ? nullptr : found->second, {}});
  }
  for (const Verdict& verdict : verdicts) {
    const auto [found, is_new] = index.emplace(verdict.case_name, cases.size());
    if (is_new) cases.push_back({verdict.case_name, nullptr, nullptr, {}});
    cases[found->second].verdicts.push_back(&verdict);
  }
  return cases;
}

ExitCode exit_code_of(const Run& run, const std::vector<Verdict>& verdicts) {
  if (is_unmeasured(run) || is_uncompared(verdicts)) return ExitCode::nothing;
  ExitCode code = ExitCode::clean;
  for (const Verdict& verdict : verdicts) {
    if (verdict.judgement == Judgement::fail) code = worse(code, ExitCode::verdict);
    if (verdict.judgement == Judgement::failed_measurement) code = worse(code, ExitCode::measurement);
  }
  return code;
}

void Tally::add(Judgement judgement, const std::string& reason) {
  ++counts_[judgement][reason];
}

void Tally::add(const JudgedCase& judged) {
  add(judged.judgement(), reason(judged));
}

std::size_t Tally::cases() const {
  std::size_t sum = 0;
  for (const auto& [judgement, reasons] : counts_) sum += count(judgement);
  return sum;
}

std::size_t Tally::count(Judgement judgement) const {
  std::size_t sum = 0;
  for (const auto& [reason, count] : reasons(judgement)) sum += count;
  return sum;
}

const std::map<std::string, std::size_t>& Tally::reasons(Judgement judgement) const {
  static const std::map<std::string, std::size_t> kNone;
  const auto found = counts_.find(judgement);
  return found == counts_.end() ? kNone : found->second;
}

std::string reason(const JudgedCase& judged) {
  const Verdict* const worst = judged.worst();
  if (worst == nullptr) return "";
  if (worst->rule == Rule::present) return "missing";
  if (worst->judgement < Judgement::fail) return worst->reason();
  const bool is_outcome = worst->rule == Rule::outcome && worst->judgement == Judgement::failed_measurement;
  return is_outcome ? worst->reason() : std::string(to_string(worst->rule));
}

std::string headline(const Tally& tally) {
  std::string text =
      fmt::format("{}: {} pass", quantity(tally.cases(), "case"), tally.count(Judgement::pass));
  for (const Judgement judgement : {Judgement::as_expected, Judgement::skipped, Judgement::warning,
                                    Judgement::fail, Judgement::failed_measurement}) {
    const std::size_t count = tally.count(judgement);
    if (count == 0 && judgement != Judgement::fail) continue;
    const std::string counted = judgement == Judgement::warning
                                    ? quantity(count, label(judgement))
                                    : fmt::format("{} {}", count, label(judgement));
    text += ", " + counted + reasons_text(tally.reasons(judgement));
  }
  return text;
}

}  // namespace peakmark
