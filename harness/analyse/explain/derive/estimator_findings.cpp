#include "analyse/explain/derive/estimator_findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace peakmark {
namespace {

const EstimateObservation* find_answer(const Observation& observation, const std::string& name) {
  const auto& own = observation.estimate;
  if (own && own->is_asked && (name.empty() || own->estimator == name)) return &*own;
  const auto other = std::ranges::find_if(observation.other_estimates, [&](const EstimateObservation& one) {
    return one.is_asked && one.estimator == name;
  });
  return other == observation.other_estimates.end() ? nullptr : &*other;
}

bool is_same(const EstimateCause& one, const EstimateCause& other) {
  return one.kind == other.kind && one.allocation == other.allocation && one.where == other.where &&
         one.process == other.process && one.bytes == other.bytes && one.is_too_high == other.is_too_high &&
         one.condition == other.condition && one.reason == other.reason && one.copies == other.copies &&
         one.of == other.of && one.same_bytes == other.same_bytes;
}

}  // namespace

EstimatedCases recorded_estimates(const RecordedCases& cases, const std::string& name) {
  EstimatedCases estimated;
  bool has_terms = true;
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    estimated.bytes.emplace_back();
    const EstimateObservation* const answer = find_answer(*cases.observations[shape], name);
    if (answer == nullptr) continue;
    if (answer->error) {
      estimated.errors.push_back(*answer->error);
      continue;
    }
    estimated.bytes.back() = answer->bytes_estimated;
    if (!answer->bytes_estimated) continue;
    has_terms = has_terms && !answer->terms.empty();
    for (const EstimateTerm& term : answer->terms) {
      auto& sizes = estimated.terms[term.name];
      sizes.resize(cases.observations.size(), 0);
      const Size of_slices = checked_multiply(term.per_slice_bytes, answer->slices_used);
      sizes[shape] = checked_add(sizes[shape], checked_add(of_slices, term.fixed_bytes));
    }
  }
  if (!has_terms) estimated.terms.clear();
  return estimated;
}

EstimatorFindings compare_estimator(const VariantFormulas& variant, const std::string& estimator,
                                    const std::vector<EstimatedCases>& estimated) {
  EstimatorFindings findings;
  findings.estimator = estimator;
  std::vector<std::string> errors;
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
    errors.insert(errors.end(), estimated[i].errors.begin(), estimated[i].errors.end());
    for (EstimateCause& cause : find_causes(cases, estimated[i])) {
      const auto known =
          std::ranges::find_if(found, [&](const Found& one) { return is_same(one.cause, cause); });
      if (known != found.end()) {
        known->words.push_back(words_text(cases.words));
      } else {
        found.push_back({std::move(cause), {words_text(cases.words)}});
      }
    }
  }
  if (!errors.empty())
    findings.error =
        fmt::format("it failed on {}; the first: {}", quantity(errors.size(), "shape"), errors[0]);
  else if (findings.compared == 0)
    findings.error = "the run has no answers from it";
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
