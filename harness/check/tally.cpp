#include "check/tally.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace peakmark {
namespace {

/// ` (2 unsupported, 1 out_of_memory)`; empty where no case has a reason.
std::string reasons_text(const std::map<std::string, std::size_t>& reasons) {
  std::string text;
  for (const auto& [reason, count] : reasons) {
    if (!reason.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, plain_text(reason));
  }
  return text.empty() ? "" : " (" + text + ")";
}

}  // namespace

void Tally::add(Judgement judgement, const std::string& reason) {
  ++counts_[judgement][reason];
}

void Tally::add(const JudgedCase& sweep_case) {
  add(sweep_case.judgement(), reason_of(sweep_case));
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

std::string reason_of(const JudgedCase& sweep_case) {
  const Verdict* const worst = sweep_case.worst();
  if (worst == nullptr) return "";
  if (worst->rule == Rule::present) return "missing";
  if (worst->judgement < Judgement::fail) return worst->reason();
  const bool is_outcome = worst->rule == Rule::outcome && worst->judgement == Judgement::failed_measurement;
  return is_outcome ? worst->reason() : std::string(to_string(worst->rule));
}

std::string headline(const Tally& tally) {
  std::string text =
      fmt::format("{}: {} pass", quantity(tally.cases(), "case"), tally.count(Judgement::pass));
  for (const Judgement judgement : {Judgement::as_expected, Judgement::skipped, Judgement::counted,
                                    Judgement::fail, Judgement::failed_measurement}) {
    const std::size_t count = tally.count(judgement);
    if (count == 0 && judgement != Judgement::fail) continue;
    text += fmt::format(", {} {}{}", count, text_of(judgement), reasons_text(tally.reasons(judgement)));
  }
  return text;
}

}  // namespace peakmark
