#include "measure/supervise/recorded_estimates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "measure/estimate/external_estimates.hpp"
#include "measure/estimate/worker_estimates.hpp"
#include "measure/supervise/case_listeners.hpp"
#include "measure/supervise/run_workers.hpp"
#include "measure/supervise/worker_program.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "measure/sweep/suite_document.hpp"
#include "record/subprocess/processes.hpp"
#include "record/subprocess/signals.hpp"

namespace peakmark {
namespace {

bool is_measured(const Observation& observation) {
  return observation.outcome == Outcome::ok && observation.requested_peak_bytes.has_value();
}

bool has_axes(const VariantDescription& variant, const Parameters& axes) {
  std::vector<std::string> names;
  for (const auto& [name, value] : axes.values()) names.push_back(name);
  return names == variant.axis_names();
}

/// Returns the integer axes whose value equals the recorded number of slices in each case that has one.
std::vector<std::string> possible_slice_axes(const std::vector<const Observation*>& cases) {
  std::optional<std::vector<std::string>> axes;
  for (const Observation* const one : cases) {
    if (!one->estimate || one->estimate->slices_used < 1) continue;
    std::vector<std::string> fitting;
    for (const auto& [name, value] : one->axes.values()) {
      const Size* const number = std::get_if<Size>(&value);
      const bool is_candidate = !axes || std::ranges::find(*axes, name) != axes->end();
      if (is_candidate && number != nullptr && *number == one->estimate->slices_used) fitting.push_back(name);
    }
    axes = std::move(fitting);
  }
  return axes.value_or(std::vector<std::string>{});
}

/// Returns a variant as its recorded cases describe it. httomo's slice dimension is not recorded, and is 0.
VariantDescription recorded_variant(const std::string& name, const std::vector<const Observation*>& cases,
                                    const std::string& slice_axis) {
  VariantDescription variant;
  variant.name = name;
  for (const auto& [axis, value] : cases.front()->axes.values())
    variant.axes.push_back({axis, value, {}, 0, ""});
  if (!slice_axis.empty()) {
    const AxisDescription* const axis = variant.axis(slice_axis);
    if (axis == nullptr || !std::holds_alternative<Size>(axis->default_value)) {
      throw UsageError(fmt::format("{} has no integer axis '{}' of slices{}; write --slice-axis AXIS", name,
                                   slice_axis, suggest_word(slice_axis, variant.axis_names())));
    }
    variant.slice_axis = slice_axis;
    return variant;
  }
  const std::vector<std::string> slice_axes = possible_slice_axes(cases);
  if (slice_axes.size() != 1) {
    throw UsageError(fmt::format(
        "{}: the run does not show which axis the slices are: name its suite with --suite", name));
  }
  variant.slice_axis = slice_axes.front();
  return variant;
}

class RecordedAsker {
 public:
  RecordedAsker(const RecordedQuestion& question, const AskLimits& limits)
      : question_(question), limits_(limits) {
    if (!question.suites.empty() || question.worker) {
      SweepOptions sweep;
      sweep.worker = question.worker;
      sweep.selection.suites = question.suites;
      read_vocabulary(find_worker_for(sweep));
    } else if (!is_call()) {
      read_vocabulary(find_worker(std::nullopt));
    } else {
      read_default_worker();
    }
    if (is_call() && vocabulary_.estimator(question.estimator) == nullptr) add_call();
  }

  /// `cases`: all measured cases of a variant.
  void ask(const std::string& variant_name, const std::vector<Observation*>& cases) {
    const VariantDescription variant = find_variant(variant_name, cases);
    const std::string named = !question_.estimator.empty() ? question_.estimator
                              : variant.estimators.empty() ? std::string()
                                                           : variant.estimators.front().name;
    const auto external = vocabulary_.estimator(named, variant_name);
    if (external) {
      check_estimator_fits(*external, variant);
      if (found_.insert({external->name, external->python}).second)
        check_estimators_found({*external}, limits_);
      std::vector<EstimateObservation> answers =
          ask_about_cases(*external, variant, {cases.begin(), cases.end()}, limits_);
      for (std::size_t i = 0; i < cases.size(); ++i) cases[i]->estimate = std::move(answers[i]);
      end_orphans();
    } else if (named.empty()) {
      for (Observation* const one : cases) one->estimate.reset();
    } else {
      std::vector<EstimateObservation> answers = ask_worker(variant, named, cases);
      for (std::size_t i = 0; i < cases.size(); ++i) cases[i]->estimate = std::move(answers[i]);
    }
  }

  /// Adds the terms of a worker's estimator to recorded estimates with the same bytes.
  void add_terms(const std::string& variant_name, const std::vector<Observation*>& cases) const {
    const VariantDescription* const variant = vocabulary_.description.variant(variant_name);
    if (variant == nullptr || vocabulary_.program(variant_name) != nullptr ||
        !has_axes(*variant, cases.front()->axes) || variant->estimators.empty())
      return;
    const std::string& named =
        question_.estimator.empty() ? variant->estimators.front().name : question_.estimator;
    if (find_described(*variant, named) == nullptr) return;
    const std::vector<EstimateObservation> answers = ask_worker(*variant, named, cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const auto add = [&](EstimateObservation& recorded) {
        if (recorded.estimator == named && recorded.bytes_estimated == answers[i].bytes_estimated)
          recorded.terms = answers[i].terms;
      };
      if (cases[i]->estimate) add(*cases[i]->estimate);
      for (EstimateObservation& other : cases[i]->other_estimates) add(other);
    }
  }

 private:
  [[nodiscard]] bool is_call() const { return is_estimator_call(question_.estimator); }

  void read_vocabulary(const std::filesystem::path& worker) {
    worker_ = worker;
    std::vector<SuiteDocument> documents;
    for (const auto& suite : question_.suites) documents.push_back(read_suite_document(suite));
    vocabulary_ = gather_vocabulary(documents, describe_worker(worker, limits_.interrupt));
  }

  /// Its variants have a fact that the run lacks: the slice dimension. A call does not need it.
  void read_default_worker() {
    try {
      read_vocabulary(find_worker(std::nullopt));
    } catch (const EnvironmentError&) {  // peakmark is installed without this worker
    }
  }

  void add_call() {
    auto estimator = std::make_shared<ExternalEstimator>(question_.call);
    estimator->name = question_.estimator;
    estimator->call = question_.estimator;
    check_estimator_call(estimator->call);
    check_estimator_form(estimator->form);
    const std::filesystem::path folder =
        question_.suites.empty() ? std::filesystem::current_path()
                                 : std::filesystem::absolute(question_.suites.front()).parent_path();
    estimator->suite_folder = folder.lexically_normal();
    vocabulary_.estimators.push_back(std::move(estimator));
  }

  [[nodiscard]] VariantDescription find_variant(const std::string& name,
                                                const std::vector<Observation*>& cases) const {
    const VariantDescription* const known = vocabulary_.description.variant(name);
    const bool is_named = !question_.suites.empty() || question_.worker;
    if (known != nullptr && (is_named || has_axes(*known, cases.front()->axes))) return *known;
    if (is_call() && !is_named)
      return recorded_variant(name, {cases.begin(), cases.end()}, question_.slice_axis);
    throw UsageError(
        fmt::format("no variant '{}' of the run in {}{}; name its suite with --suite, or its "
                    "worker with --worker",
                    name, question_.suites.empty() ? worker_.string() : "the suites",
                    suggest_word(name, vocabulary_.description.variant_names())));
  }

  static const VariantDescription::EstimatorDescription* find_described(const VariantDescription& variant,
                                                                        const std::string& named) {
    const auto described =
        std::ranges::find(variant.estimators, named, &VariantDescription::EstimatorDescription::name);
    return described == variant.estimators.end() ? nullptr : &*described;
  }

  [[nodiscard]] std::vector<EstimateObservation> ask_worker(const VariantDescription& variant,
                                                            const std::string& named,
                                                            const std::vector<Observation*>& cases) const {
    const auto* const described = find_described(variant, named);
    if (described == nullptr) {
      std::vector<std::string> names;
      for (const auto& one : variant.estimators) names.push_back(one.name);
      for (const auto& one : vocabulary_.estimators) names.push_back(one->name);
      throw UsageError(
          fmt::format("{}: no estimator '{}'{}", variant.name, named, suggest_word(named, names)));
    }
    std::vector<std::string> lines;
    for (const Observation* const one : cases) {
      for (const std::optional<Size>& available : {one->requested_peak_bytes, std::optional<Size>()}) {
        lines.push_back(estimate_question(variant, one->axes, available, named));
      }
    }
    std::vector<EstimateAnswer> answers = ask_estimators(worker_, named, lines, limits_);
    std::vector<EstimateObservation> estimates(cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const EstimateAnswer& slices = answers[2 * i];
      EstimateAnswer& bytes = answers[2 * i + 1];
      EstimateObservation& estimate = estimates[i];
      estimate.estimator = described->name;
      estimate.form = described->form;
      estimate.slices_used = cases[i]->axes.integer(variant.slice_axis);
      estimate.slices_estimated = slices.slices;
      estimate.bytes_estimated = bytes.bytes;
      estimate.dtype = bytes.dtype;
      estimate.error = slices.error ? slices.error : bytes.error;
      estimate.terms = std::move(bytes.terms);
    }
    return estimates;
  }

  const RecordedQuestion& question_;
  AskLimits limits_;
  std::filesystem::path worker_;
  Vocabulary vocabulary_;
  std::set<std::pair<std::string, std::string>> found_;  ///< external estimators and their Python
};

AskLimits limits_of(const RecordedQuestion& question, const SignalWatch& signals,
                    EstimatorWarnings* warnings) {
  return {signals.descriptor(), std::nullopt, question.seconds, question.limit_option, warnings};
}

}  // namespace

std::size_t ask_about_run(Run& run, const RecordedQuestion& question) {
  std::map<std::string, std::vector<Observation*>> variants;
  std::set<std::string> names;
  std::size_t asked = 0;
  for (Observation& observation : run.observations) {
    names.insert(observation.variant);
    const bool is_asked = question.variant.empty() || question.variant == observation.variant;
    if (!is_asked || !is_measured(observation)) continue;
    variants[observation.variant].push_back(&observation);
    ++asked;
  }
  if (!question.variant.empty() && !names.contains(question.variant)) {
    throw UsageError(fmt::format("no variant '{}' in the run{}", question.variant,
                                 suggest_word(question.variant, {names.begin(), names.end()})));
  }
  const OrphanGuard guard;
  const SignalWatch signals;
  EstimatorWarnings printed([&](const std::string& warning) {
    say("warning: " + warning);
    run.context.warnings.push_back(warning);
  });
  RecordedAsker asker(
      question, limits_of(question, signals, question.warnings != nullptr ? question.warnings : &printed));
  for (const auto& [variant, cases] : variants) {
    asker.ask(variant, cases);
    for (Observation* const one : cases) one->other_estimates.clear();
  }
  for (PlannedCase& planned : run.context.planned) {
    if (variants.contains(planned.sweep_case.variant)) planned.judged_estimators.clear();
  }
  return asked;
}

void add_recorded_terms(Run& run, const RecordedQuestion& question) {
  std::map<std::string, std::vector<Observation*>> variants;
  for (Observation& observation : run.observations) {
    if (is_measured(observation)) variants[observation.variant].push_back(&observation);
  }
  const OrphanGuard guard;
  const SignalWatch signals;
  try {
    const RecordedAsker asker(question, limits_of(question, signals, nullptr));
    for (const auto& [variant, cases] : variants) asker.add_terms(variant, cases);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
    if (question.worker) throw;
  }
}

}  // namespace peakmark
