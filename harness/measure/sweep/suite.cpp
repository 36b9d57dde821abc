#include "measure/sweep/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/text.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "measure/sweep/suite_document.hpp"
#include "measure/sweep/sweep_expansion.hpp"
#include "measure/sweep/typed_axes.hpp"

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
  for (const EstimatorFormula& formula : estimator.formulas) {
    fingerprint.add(formula.bytes.text());
    for (const CaseCondition& condition : formula.when) {
      fingerprint.add(condition.key);
      for (const Located<AxisValue>& value : condition.values) fingerprint.add(to_text(value.value));
    }
  }
  for (const std::string& axis : estimator.parameters.value_or(std::vector<std::string>{})) {
    fingerprint.add(axis);
  }
}

std::string make_fingerprint(const std::vector<PlannedCase>& cases, const Vocabulary& vocabulary) {
  Fingerprint fingerprint;
  for (const PlannedCase& planned : cases) {
    fingerprint.add(planned.name);
    fingerprint.add(to_text(planned.window));
    fingerprint.add(planned.expected_outcome);
    for (const std::string& estimator : planned.judged_estimators) fingerprint.add(estimator);
    fingerprint.add("");
    // Suites without versions and limits keep their fingerprint.
    if (planned.version != 1) fingerprint.add(fmt::format("version {}", planned.version));
    const Limits& limits = planned.limits;
    if (limits.peak_bytes) fingerprint.add(fmt::format("peak {}", *limits.peak_bytes));
    if (limits.peak_over_floor) fingerprint.add(fmt::format("peak over floor {}", *limits.peak_over_floor));
    if (limits.time_ns) fingerprint.add(fmt::format("time {}", *limits.time_ns));
    if (limits.growth) fingerprint.add("growth " + limits.growth->text);
    if (limits.shrinking) fingerprint.add("shrinking " + limits.shrinking->text);
    for (const MetricLimit& one : limits.metrics) {
      if (one.min) fingerprint.add(fmt::format("min {} {}", one.name, *one.min));
      if (one.max) fingerprint.add(fmt::format("max {} {}", one.name, *one.max));
    }
  }
  for (const auto& program : vocabulary.programs) add(*program, fingerprint);
  for (const auto& estimator : vocabulary.estimators) add(*estimator, fingerprint);
  return fingerprint.text();
}

/// Returns the names of the axes of all cases, in the order of their first occurrence.
std::vector<std::string> axes_of(const std::vector<PlannedCase>& cases) {
  std::vector<std::string> names;
  for (const PlannedCase& planned : cases) {
    for (const auto& [name, value] : planned.sweep_case.parameters.values()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

class Collector {
 public:
  explicit Collector(Suite& suite) : suite_(suite), places_(0, Hash{suite.cases}, Equal{suite.cases}) {}

  void add(const SweepExpansion& sweep, const SourceLocation& place) {
    max_cases_ += sweep.max_cases();
    if (max_cases_ > kMaxCases) fail(place, fmt::format("more than {} cases in the suite", kMaxCases));
    sweep.walk([&](SweepExpansion::Expanded expanded) {
      PlannedCase& planned = expanded.planned;
      planned.name = case_name(planned.sweep_case, *expanded.variant);
      // If auto is dry, cases for `auto` and `dry` are the same and are measured once.
      const bool is_automatic = expanded.written_backend != planned.sweep_case.backend;
      std::size_t index = suite_.cases.size();
      if (const auto known = places_.find(std::string_view(planned.name)); known != places_.end()) {
        index = *known;
      } else {
        suite_.cases.push_back(std::move(planned));
        written_at_.push_back({});
        places_.insert(index);
      }
      const SourceLocation*& written = written_at_[index].at(is_automatic ? 1 : 0);
      if (written != nullptr) fail_duplicate(expanded, suite_.cases[index], *written, place);
      written = &place;
    });
  }

 private:
  [[noreturn]] static void fail_duplicate(const SweepExpansion::Expanded& expanded, const PlannedCase& known,
                                          const SourceLocation& first, const SourceLocation& place) {
    SweepCase written = known.sweep_case;
    written.backend = expanded.written_backend;
    fail(place, fmt::format("duplicate case {}: it is already in {}:{}",
                            case_name(written, *expanded.variant), first.file, first.line));
  }

  // The index of a case is found by its name, which is stored only once, because a suite may have millions.
  struct Hash {
    using is_transparent = void;
    const std::vector<PlannedCase>& cases;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
    std::size_t operator()(std::size_t index) const { return (*this)(std::string_view(cases[index].name)); }
  };
  struct Equal {
    using is_transparent = void;
    const std::vector<PlannedCase>& cases;
    bool operator()(std::size_t one, std::size_t other) const { return one == other; }
    bool operator()(std::string_view name, std::size_t index) const { return cases[index].name == name; }
    bool operator()(std::size_t index, std::string_view name) const { return cases[index].name == name; }
  };

  Suite& suite_;
  std::size_t max_cases_ = 0;
  std::unordered_set<std::size_t, Hash, Equal> places_;
  /// For each case: where it is written with its backend, and with `auto`; null: nowhere.
  std::vector<std::array<const SourceLocation*, 2>> written_at_;
};

}  // namespace

Suite expand_suites(const std::vector<SuiteDocument>& documents, const Description& description,
                    const ExpandOptions& options) {
  const std::vector<AxisValues> axes = parse_typed_axes(options.axes);
  if (options.backend && std::ranges::find(known_backends(), *options.backend) == known_backends().end()) {
    throw UsageError(fmt::format("--backend {}: unknown backend{}", *options.backend,
                                 suggest_word(*options.backend, known_backends())));
  }
  Suite suite;
  suite.vocabulary = gather_vocabulary(documents, description);
  Collector collector(suite);
  std::vector<bool> are_used(axes.size());
  const auto add = [&](const SuiteDocument& document) {
    suite.name += (suite.name.empty() ? "" : "+") + document.name;
    for (const SweepDocument& sweep : document.sweeps) {
      const SweepExpansion expansion(sweep, document, suite.vocabulary, options, axes);
      for (std::size_t i = 0; i < axes.size(); ++i)
        are_used[i] = are_used[i] || expansion.all_have(axes[i].axis);
      collector.add(expansion, sweep.place);
    }
  };
  for (const SuiteDocument& document : documents) {
    suite.files.push_back(document.file);
    if (options.variants.empty()) add(document);
  }
  const SuiteDocument typed = typed_suite(options.variants, axes);
  if (!options.variants.empty()) add(typed);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!are_used[i])
      fail(axes[i].place, fmt::format("no sweep has the axis '{}' in all its variants{}", axes[i].axis,
                                      suggest_word(axes[i].axis, axes_of(suite.cases))));
    suite.name += " " + options.axes[i];
  }
  suite.fingerprint = make_fingerprint(suite.cases, suite.vocabulary);
  return suite;
}

Suite load_suites(const std::vector<std::filesystem::path>& files, const Description& description,
                  const ExpandOptions& options) {
  if (files.empty() && options.variants.empty()) throw UsageError("no suite file named");
  std::vector<SuiteDocument> documents;
  documents.reserve(files.size());
  for (const std::filesystem::path& file : files) documents.push_back(read_suite_document(file));
  return expand_suites(documents, description, options);
}

std::optional<SuiteWorker> find_suite_worker(const std::vector<std::filesystem::path>& files) {
  std::optional<SuiteWorker> found;
  for (const std::filesystem::path& file : files) {
    const SuiteDocument document = read_suite_document(file);
    if (!document.worker) continue;
    const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
    SuiteWorker worker{document.worker->value, (folder / document.worker->value).lexically_normal(),
                       document.worker->place};
    if (found && found->program != worker.program) {
      fail(worker.place,
           fmt::format(
               "'{}' differs from the worker of {}:{}, '{}'; run the suites separately, or name one worker "
               "with --worker",
               worker.named.string(), found->place.file, found->place.line, found->named.string()));
    }
    found = std::move(worker);
  }
  return found;
}

namespace {

std::optional<double> parse_bound(std::string_view text) {
  const auto bound = parse_number<double>(text);
  return bound && std::isfinite(*bound) && *bound >= 0 ? bound : std::nullopt;
}

}  // namespace

Window parse_window(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto lo = parse_bound(text.substr(0, colon));
  const auto hi = colon == std::string_view::npos ? std::nullopt : parse_bound(text.substr(colon + 1));
  if (!lo || !hi) throw UsageError(fmt::format("malformed window '{}': write LO:HI, such as 0.8:1.0", text));
  const Window window{*lo, *hi};
  if (window.lo > window.hi) {
    throw UsageError(
        fmt::format("malformed window '{}': {} is more than {}; write LO:HI", text, window.lo, window.hi));
  }
  return window;
}

std::string to_text(const Window& window) {
  return fmt::format("{}:{}", window.lo, window.hi);
}

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto index = parse_number<int>(text.substr(0, slash));
  const auto count =
      slash == std::string_view::npos ? std::nullopt : parse_number<int>(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count) {
    throw UsageError(fmt::format("malformed shard '{}': write I/N with 1 ≤ I ≤ N, such as 2/4", text));
  }
  return {*index, *count};
}

namespace {

void check_shard(const Shard& shard) {
  if (shard.index >= 1 && shard.index <= shard.count) return;
  throw UsageError(
      fmt::format("malformed shard {}/{}: must be I/N with 1 ≤ I ≤ N", shard.index, shard.count));
}

/// Keeps the cases at these places, which must be ascending. The names of the others go to the shard.
std::vector<PlannedCase> cases_at(std::vector<PlannedCase> cases, const std::vector<std::int64_t>& places,
                                  Shard& shard) {
  std::size_t kept = 0;
  shard.other_cases.clear();
  shard.other_cases.reserve(cases.size() - places.size());
  for (std::size_t from = 0; from < cases.size(); ++from) {
    if (kept == places.size() || static_cast<std::size_t>(places[kept]) != from) {
      shard.other_cases.push_back(std::move(cases[from].name));
      continue;
    }
    if (kept != from) cases[kept] = std::move(cases[from]);
    ++kept;
  }
  cases.resize(kept);
  cases.shrink_to_fit();
  return cases;
}

/// Returns the time of each case in microseconds, because integers have the same sums on every machine.
std::vector<std::int64_t> expected_microseconds(const std::vector<PlannedCase>& cases,
                                                const CaseSeconds& recorded) {
  constexpr std::int64_t kUnknown = -1;
  constexpr double kMaxSeconds = 1e6;  // so that the sum over kMaxCases cannot overflow
  std::vector<std::int64_t> times;
  times.reserve(cases.size());
  std::int64_t sum = 0;
  std::int64_t known = 0;
  for (const PlannedCase& planned : cases) {
    const auto found = recorded.find(planned.name);
    times.push_back(found == recorded.end() ? kUnknown
                                            : std::llround(std::clamp(found->second, 0., kMaxSeconds) * 1e6));
    if (times.back() == kUnknown) continue;
    sum += times.back();
    ++known;
  }
  std::ranges::replace(times, kUnknown, known == 0 ? 1 : sum / known);
  return times;
}

}  // namespace

// Large shapes are neighbours in a suite: taking every N-th case distributes them over the shards.
std::vector<PlannedCase> select_shard(std::vector<PlannedCase> cases, Shard& shard) {
  check_shard(shard);
  std::vector<std::int64_t> places;
  const auto count = static_cast<std::int64_t>(cases.size());
  places.reserve(cases.size() / static_cast<std::size_t>(shard.count) + 1);
  for (std::int64_t place = shard.index - 1; place < count; place += shard.count) places.push_back(place);
  return cases_at(std::move(cases), places, shard);
}

std::vector<PlannedCase> select_balanced_shard(std::vector<PlannedCase> cases, Shard& shard,
                                               const CaseSeconds& recorded) {
  check_shard(shard);
  const std::vector<std::int64_t> times = expected_microseconds(cases, recorded);
  std::vector<std::int64_t> longest_first(cases.size());
  std::iota(longest_first.begin(), longest_first.end(), std::int64_t{0});
  std::ranges::stable_sort(longest_first, std::ranges::greater{},
                           [&](std::int64_t place) { return times[static_cast<std::size_t>(place)]; });
  // Microseconds, number of cases, index: the part with the smallest load gets the next case.
  using Load = std::tuple<std::int64_t, std::int64_t, int>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (int index = 1; index <= shard.count; ++index) loads.emplace(0, 0, index);
  std::vector<std::int64_t> places;
  for (const std::int64_t place : longest_first) {
    const auto [time, number, index] = loads.top();
    loads.pop();
    loads.emplace(time + times[static_cast<std::size_t>(place)], number + 1, index);
    if (index == shard.index) places.push_back(place);
  }
  std::ranges::sort(places);
  cases = cases_at(std::move(cases), places, shard);
  shard.places = std::move(places);
  return cases;
}

}  // namespace peakmark
