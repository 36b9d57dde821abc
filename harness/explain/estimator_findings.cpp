#include <fmt/format.h>

#include <algorithm>

#include "explain/against.hpp"

namespace peakmark {

EstimatedCases recorded_estimates(const RecordedCases& cases, const std::string& name) {
  EstimatedCases estimated;
  for (const Observation* const observation : cases.observations) {
    estimated.bytes.emplace_back();
    const auto take = [&](const EstimateObservation& one) {
      if (one.is_asked && !one.error) estimated.bytes.back() = one.bytes_estimated;
    };
    if (observation->estimate && (name.empty() || observation->estimate->estimator == name))
      take(*observation->estimate);
    for (const EstimateObservation& one : observation->other_estimates) {
      if (one.estimator == name) take(one);
    }
  }
  return estimated;
}

namespace {

std::string words_text(const RecordedCases& cases) {
  std::string text;
  for (const auto& [axis, word] : cases.words)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", axis, word);
  return text;
}

bool is_same(const EstimateCause& one, const EstimateCause& other) {
  return one.kind == other.kind && one.allocation == other.allocation && one.where == other.where &&
         one.bytes == other.bytes && one.is_too_high == other.is_too_high &&
         one.condition == other.condition && one.reason == other.reason;
}

}  // namespace

EstimatorFindings compare_estimator(const VariantFormulas& variant, const std::string& estimator,
                                    const std::vector<EstimatedCases>& estimated) {
  EstimatorFindings findings{estimator, {}, 0, 0, {}};
  struct Found {
    EstimateCause cause;
    std::vector<std::string> words;
  };
  std::vector<Found> found;
  for (std::size_t i = 0; i < variant.cases.size(); ++i) {
    const RecordedCases& cases = variant.cases[i];
    for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape) {
      if (!estimated.at(i).bytes[shape]) continue;
      ++findings.compared;
      if (*estimated[i].bytes[shape] != cases.peaks[shape]) ++findings.wrong;
    }
    for (EstimateCause& cause : find_causes(variant.explanation, cases, estimated[i])) {
      const auto known =
          std::ranges::find_if(found, [&](const Found& one) { return is_same(one.cause, cause); });
      if (known != found.end()) {
        known->words.push_back(words_text(cases));
      } else {
        found.push_back({std::move(cause), {words_text(cases)}});
      }
    }
  }
  if (findings.compared == 0) findings.error = "it answered no shape";
  for (Found& one : found) {
    if (one.words.size() < variant.cases.size()) {
      std::string words;
      for (const std::string& text : one.words) words += (words.empty() ? "" : " or ") + text;
      one.cause.condition = one.cause.condition.empty() ? words : words + " and " + one.cause.condition;
    }
    findings.causes.push_back(std::move(one.cause));
  }
  return findings;
}

}  // namespace peakmark
