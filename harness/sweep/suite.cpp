#include "sweep/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "sweep/nearest_word.hpp"
#include "sweep/suite_document.hpp"
#include "sweep/sweep_expansion.hpp"

namespace peakmark {
namespace {

void add(const ProgramDescription& program, Fingerprint& fingerprint) {
  fingerprint.add(program.variant.name);
  for (const std::string& word : program.command) fingerprint.add(word);
  for (const auto& [name, value] : program.environment) {
    fingerprint.add(name);
    fingerprint.add(value);
  }
  fingerprint.add(program.python);
  fingerprint.add(program.shell ? "shell" : "");
  fingerprint.add(program.sync ? "sync" : "");
  fingerprint.add(program.device_time ? "device time" : "");
  fingerprint.add(program.estimator);
}

void add(const ExternalEstimator& estimator, Fingerprint& fingerprint) {
  for (const std::string& text : {estimator.name, estimator.call, estimator.form, estimator.dtype,
                                  estimator.python, estimator.output_dimensions, estimator.padding}) {
    fingerprint.add(text);
  }
  for (const Formula& dimension : estimator.other_dimensions) fingerprint.add(dimension.text());
  for (const std::string& axis : estimator.parameters.value_or(std::vector<std::string>{})) {
    fingerprint.add(axis);
  }
}

std::string fingerprint_of(const std::vector<PlannedCase>& cases, const Vocabulary& vocabulary) {
  Fingerprint fingerprint;
  for (const PlannedCase& planned : cases) {
    fingerprint.add(planned.name);
    fingerprint.add(to_text(planned.window));
    fingerprint.add(planned.expected_outcome);
    for (const std::string& estimator : planned.judged_estimators) fingerprint.add(estimator);
    fingerprint.add("");
  }
  for (const auto& program : vocabulary.programs) add(*program, fingerprint);
  for (const auto& estimator : vocabulary.estimators) add(*estimator, fingerprint);
  return fingerprint.text();
}

class Collector {
 public:
  explicit Collector(Suite& suite) : suite_(suite) {}

  void add(const SweepExpansion& sweep, const Place& place) {
    at_most_ += sweep.cases_at_most();
    if (at_most_ > kMaxCases) fail(place, fmt::format("the suite has more than {} cases", kMaxCases));
    sweep.walk([&](SweepExpansion::Expanded expanded) {
      Case written = expanded.planned.sweep_case;
      written.backend = expanded.written_backend;
      const std::string written_name = case_name(written, *expanded.variant);
      const auto [first, is_new] = first_places_.try_emplace(written_name, place);
      if (!is_new) {
        fail(place, fmt::format("gives the case {} a second time; the first time is at {}:{}", written_name,
                                first->second.file, first->second.line));
      }
      expanded.planned.name = case_name(expanded.planned.sweep_case, *expanded.variant);
      // Cases for `auto` and `dry` are two as written and one where auto is dry: measured once.
      if (names_.insert(expanded.planned.name).second) suite_.cases.push_back(std::move(expanded.planned));
    });
  }

 private:
  Suite& suite_;
  std::size_t at_most_ = 0;
  std::unordered_map<std::string, Place> first_places_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Suite expand_suites(const std::vector<SuiteDocument>& documents, const Description& description,
                    const ExpandOptions& options) {
  if (options.backend && std::ranges::find(known_backends(), *options.backend) == known_backends().end()) {
    throw UsageError(fmt::format("--backend {}: there is no such backend{}", *options.backend,
                                 suggest_word(*options.backend, known_backends())));
  }
  Suite suite;
  suite.vocabulary = vocabulary_of(documents, description);
  Collector collector(suite);
  for (const SuiteDocument& document : documents) {
    suite.files.push_back(document.file);
    suite.name += (suite.name.empty() ? "" : "+") + document.name;
    for (const SweepDocument& sweep : document.sweeps) {
      collector.add(SweepExpansion(sweep, document, suite.vocabulary, options), sweep.place);
    }
  }
  suite.fingerprint = fingerprint_of(suite.cases, suite.vocabulary);
  return suite;
}

Suite load_suites(const std::vector<std::filesystem::path>& files, const Description& description,
                  const ExpandOptions& options) {
  if (files.empty()) throw UsageError("no suite file is named");
  std::vector<SuiteDocument> documents;
  documents.reserve(files.size());
  for (const std::filesystem::path& file : files) documents.push_back(read_suite_document(file));
  return expand_suites(documents, description, options);
}

std::optional<SuiteWorker> worker_of_suites(const std::vector<std::filesystem::path>& files) {
  std::optional<SuiteWorker> found;
  for (const std::filesystem::path& file : files) {
    const SuiteDocument document = read_suite_document(file);
    if (!document.worker) continue;
    const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
    SuiteWorker worker{document.worker->value, (folder / document.worker->value).lexically_normal(),
                       document.worker->place};
    if (found && found->program != worker.program) {
      fail(worker.place,
           fmt::format("'{}' is not the worker of {}:{}, '{}'; run the suites one after the other, or "
                       "name one worker with --worker",
                       worker.named.string(), found->place.file, found->place.line, found->named.string()));
    }
    found = std::move(worker);
  }
  return found;
}

}  // namespace peakmark
