#include "measure/sweep/vocabulary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "measure/sweep/suite_document.hpp"

namespace peakmark {
namespace {

class Gatherer {
 public:
  explicit Gatherer(const Description& worker) { vocabulary_.description = worker; }

  Vocabulary gather(const std::vector<SuiteDocument>& documents) {
    for (const SuiteDocument& document : documents) {
      for (const auto& estimator : document.estimators) add(estimator);
      add_calls(document.expectation, document);
      for (const SweepDocument& sweep : document.sweeps) {
        add_calls(sweep.expectation, document);
        for (const CaseRule& rule : sweep.rules) add_calls(rule.expectation, document);
      }
    }
    for (const SuiteDocument& document : documents) {
      for (const auto& program : document.programs) add(program);
    }
    return std::move(vocabulary_);
  }

 private:
  void add(const std::shared_ptr<const ExternalEstimator>& estimator) {
    if (const ExternalEstimator* first = vocabulary_.estimator(estimator->name)) {
      fail(estimator->place, fmt::format("duplicate estimator '{}': it is already in {}:{}", estimator->name,
                                         first->place.file, first->place.line));
    }
    vocabulary_.estimators.push_back(estimator);
  }

  /// Adds an estimator that is only a call, without a name.
  void add_call(const std::string& call, const SourceLocation& place, const std::string& python,
                const std::filesystem::path& folder) {
    if (!is_estimator_call(call) || vocabulary_.estimator(call) != nullptr) return;
    auto estimator = std::make_shared<ExternalEstimator>();
    estimator->place = place;
    estimator->name = call;
    estimator->call = call;
    estimator->python = python;
    estimator->suite_folder = folder;
    check_here(place, [&] { check_estimator_call(call); });
    vocabulary_.estimators.push_back(std::move(estimator));
  }

  void add_calls(const Expectation& expectation, const SuiteDocument& document) {
    if (!expectation.estimators) return;
    const auto folder = std::filesystem::absolute(document.file).parent_path().lexically_normal();
    for (const Located<std::string>& one : *expectation.estimators)
      add_call(one.value, one.place, "", folder);
  }

  void add(const std::shared_ptr<const ProgramDescription>& program) {
    Description& description = vocabulary_.description;
    if (description.variant(program->variant.name) != nullptr) {
      const ProgramDescription* first = vocabulary_.program(program->variant.name);
      fail(program->place,
           fmt::format("duplicate variant '{}': it is already {}", program->variant.name,
                       first == nullptr ? "in the worker"
                                        : fmt::format("in {}:{}", first->place.file, first->place.line)));
    }
    vocabulary_.programs.push_back(program);
    description.variants.push_back(program->variant);
    if (program->estimator.empty()) return;
    SourceLocation place = program->place;
    place.key = "program.estimator";
    add_call(program->estimator, place, program->python, program->suite_folder);
    const ExternalEstimator* estimator = vocabulary_.estimator(program->estimator);
    if (estimator == nullptr) {
      std::vector<std::string> names;
      for (const auto& one : vocabulary_.estimators) names.push_back(one->name);
      fail(place, fmt::format("unknown estimator '{}'{}", program->estimator,
                              suggest_word(program->estimator, names)));
    }
    check_here(place, [&] { check_estimator_fits(*estimator, program->variant); });
    description.variants.back().estimators.push_back({estimator->name, estimator->form});
  }

  Vocabulary vocabulary_;
};

}  // namespace

const ProgramDescription* Vocabulary::program(std::string_view variant) const {
  const auto found =
      std::ranges::find_if(programs, [&](const auto& one) { return one->variant.name == variant; });
  return found == programs.end() ? nullptr : found->get();
}

const ExternalEstimator* Vocabulary::estimator(std::string_view name) const {
  const auto found = std::ranges::find_if(estimators, [&](const auto& one) { return one->name == name; });
  return found == estimators.end() ? nullptr : found->get();
}

std::optional<ExternalEstimator> Vocabulary::estimator(std::string_view name,
                                                       std::string_view variant) const {
  const ExternalEstimator* found = estimator(name);
  if (found == nullptr) return std::nullopt;
  ExternalEstimator asked = *found;
  const ProgramDescription* measured = program(variant);
  if (asked.python.empty() && measured != nullptr) asked.python = measured->python;
  const auto has_it = [&](const auto& one) { return !asked.python.empty() && one->python == asked.python; };
  if (const auto one = std::ranges::find_if(programs, has_it); one != programs.end()) {
    asked.python_made_by = (*one)->python_made_by;
  }
  return asked;
}

Vocabulary gather_vocabulary(const std::vector<SuiteDocument>& documents, const Description& worker) {
  return Gatherer(worker).gather(documents);
}

}  // namespace peakmark
