#include "measure/supervise/run_workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "base/program.hpp"
#include "measure/supervise/case_listeners.hpp"
#include "measure/supervise/worker_program.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {
namespace {

/// Appends `LABEL=one` to a list like `old=a, new=b`.
void join(std::string& all, const std::string& label, const std::string& one, bool is_first) {
  all += fmt::format("{}{}={}", is_first ? "" : ", ", label, one);
}

std::string with_underlines(std::string label) {
  std::ranges::replace(label, '.', '_');
  return label;
}

}  // namespace

WorkerCall WorkerCall::for_times_only() const {
  WorkerCall call = *this;
  call.arguments.emplace_back("--times-only");
  return call;
}

RunWorkers::RunWorkers(const SweepOptions& options, int interrupt) {
  if (options.labelled_workers.empty()) {
    calls_ = {{find_worker_for(options), {}}};
    descriptions_ = {describe_worker(calls_[0].program, interrupt)};
    description_ = descriptions_[0];
    calls_[0].cache = options.cache;
    return;
  }
  for (const LabelledWorker& worker : options.labelled_workers) add(worker, interrupt);
  for (WorkerCall& call : calls_) call.cache = options.cache;
  const auto alike = [&](std::string Description::*text) {
    return std::ranges::all_of(descriptions_,
                               [&](const Description& one) { return one.*text == description_.*text; });
  };
  description_ = descriptions_[0];
  const bool is_one_build = alike(&Description::build);
  const bool is_one_commit = alike(&Description::commit);
  description_.worker.clear();
  if (!is_one_build) description_.build.clear();
  if (!is_one_commit) description_.commit.clear();
  description_.variants.clear();
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    const Description& one = descriptions_[i];
    const std::string& label = options.labelled_workers[i].label;
    join(description_.worker, label, one.worker, i == 0);
    if (!is_one_build) join(description_.build, label, one.build, i == 0);
    if (!is_one_commit) join(description_.commit, label, one.commit, i == 0);
    description_.variants.insert(description_.variants.end(), one.variants.begin(), one.variants.end());
  }
}

void RunWorkers::add(const LabelledWorker& worker, int interrupt) {
  const std::string typed = worker.label + "=" + worker.program;
  calls_.push_back({find_worker(worker.program, typed), {"--label", worker.label}});
  Description& description = descriptions_.emplace_back();
  try {
    description = describe_worker(calls_.back().program, interrupt, calls_.back().arguments);
  } catch (const ProtocolError& error) {
    throw ProtocolError(
        fmt::format("--worker {}: {} (each of several workers must support --label)", typed, error.what()));
  }
  for (VariantDescription& variant : description.variants) {
    if (!variant.name.ends_with("." + worker.label)) {
      throw ProtocolError(
          fmt::format("{}: with --label {}, it still names a variant {}; it cannot be one of several workers",
                      calls_.back().program.string(), worker.label, variant.name));
    }
    variant.label = worker.label;
  }
}

std::string RunWorkers::warning() const {
  for (const Description& one : descriptions_) {
    if (one.build == descriptions_.front().build) continue;
    return fmt::format(
        "the workers are builds of different types ({}), which makes times differ; build them alike, for "
        "example with -DCMAKE_BUILD_TYPE=Release",
        description_.build);
  }
  return {};
}

void RunWorkers::check(const std::vector<PlannedCase>& cases, int interrupt) const {
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    check_cases(calls_[i].program, descriptions_[i], cases, interrupt, calls_[i].arguments);
  }
}

std::vector<std::string> RunWorkers::mistakes(const std::vector<PlannedCase>& cases, int interrupt) const {
  std::vector<std::string> all(cases.size());
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const std::vector<std::string> found =
        case_mistakes(calls_[i].program, descriptions_[i], cases, interrupt, calls_[i].arguments);
    for (std::size_t place = 0; place < found.size(); ++place) all[place] += found[place];
  }
  return all;
}

std::size_t RunWorkers::index_of(const PlannedCase& planned) const {
  if (descriptions_.size() == 1) return 0;
  const auto found = std::ranges::find_if(descriptions_, [&](const Description& one) {
    return one.variant(planned.sweep_case.variant) != nullptr;
  });
  if (found == descriptions_.end())
    throw UsageError("no worker has the variant " + planned.sweep_case.variant);
  return static_cast<std::size_t>(found - descriptions_.begin());
}

namespace {

/// Returns the first name or pattern of which a worker has no variant; null if there is none.
const std::string* find_missing(const std::filesystem::path& worker,
                                const std::vector<std::string>& variants) {
  const Description description = describe_worker(worker);
  const auto missing = std::ranges::find_if(variants, [&](const std::string& pattern) {
    return std::ranges::none_of(description.variants, [&](const VariantDescription& variant) {
      return matches_pattern(pattern, variant.name);
    });
  });
  return missing == variants.end() ? nullptr : &*missing;
}

/// Returns the different workers that the suites in the current folder name. Other files are left out.
std::vector<SuiteWorker> workers_here() {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(".", error)) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path().filename());
  }
  std::ranges::sort(files);
  std::vector<SuiteWorker> found;
  for (const std::filesystem::path& file : files) {
    try {
      const auto worker = find_suite_worker({file});
      const bool is_new = worker && std::ranges::none_of(found, [&](const SuiteWorker& other) {
                            return other.program == worker->program;
                          });
      if (is_new) found.push_back(*worker);
    } catch (const Error&) {  // not a suite
    }
  }
  return found;
}

/// Returns why a worker of a suite cannot run; empty if it can.
std::string worker_failure(const SuiteWorker& worker) {
  return program_failure(current_environment(), worker.program.string());
}

}  // namespace

void find_worker_here(SweepOptions& options, const std::vector<std::string>& variants) {
  const bool is_named =
      options.worker || !options.labelled_workers.empty() || !options.selection.suites.empty();
  if (is_named || variants.empty()) return;
  std::vector<SuiteWorker> here = workers_here();
  if (here.empty()) return;
  const std::string* missing = nullptr;
  try {
    missing = find_missing(find_worker(std::nullopt), variants);
  } catch (const EnvironmentError&) {
    missing = &variants.front();  // there is no default worker
  }
  if (missing == nullptr) return;
  if (const std::string failure = worker_failure(here.front()); here.size() == 1 && !failure.empty())
    fail(here.front().place,
         fmt::format("no variant '{}' without this worker: {}: {}; build it, or name another with --worker",
                     *missing, here.front().named.string(), failure));
  std::erase_if(here, [&](const SuiteWorker& worker) {
    return !worker_failure(worker).empty() || find_missing(worker.program, variants) != nullptr;
  });
  if (here.empty()) return;  // the caller reports the unknown variant
  const auto typed = [](const SuiteWorker& worker) {
    return worker.named.has_parent_path() ? worker.named.string() : "./" + worker.named.string();
  };
  if (here.size() > 1)
    throw UsageError(
        fmt::format("two workers have the variant '{}': write --worker {} (of {}) or --worker {} (of {})",
                    *missing, typed(here[0]), here[0].place.file, typed(here[1]), here[1].place.file));
  options.worker = typed(here.front());
  say(fmt::format("worker: {}, of {}", *options.worker, here.front().place.file));
}

std::filesystem::path find_worker_for(const SweepOptions& options) {
  if (options.worker) return find_worker(options.worker);
  const auto named = find_suite_worker(options.selection.suites);
  if (!named) return find_worker(std::nullopt);
  const std::string failure = worker_failure(*named);
  if (failure.empty()) return named->program;
  fail(named->place,
       fmt::format("{}: {}; build it, or name another with --worker", named->program.string(), failure));
}

void set_workers(SweepOptions& options, const std::vector<std::string>& typed) {
  for (const std::string& word : typed) {
    const std::size_t sign = word.find('=');
    const std::string label = sign == std::string::npos ? "" : word.substr(0, sign);
    if (!is_axis_name(label)) {  // a path may contain a `=`, too
      if (typed.size() > 1) {
        throw UsageError(fmt::format(
            "--worker {}: several workers need labels; write --worker old={} --worker new=…", word, word));
      }
      options.worker = word;
      return;
    }
    if (sign + 1 == word.size()) {
      throw UsageError(fmt::format("--worker {}: no program after the label; write {}PROGRAM", word, word));
    }
    if (label.find('.') != std::string::npos) {
      throw UsageError(
          fmt::format("--worker {}: a label must not contain a point, which separates it from the variant's "
                      "name; write {}",
                      word, with_underlines(label)));
    }
    for (const LabelledWorker& other : options.labelled_workers) {
      if (other.label == label)
        throw UsageError(fmt::format("--worker {}: the label {} is used twice", word, label));
    }
    options.labelled_workers.push_back({label, word.substr(sign + 1)});
  }
}

std::vector<std::string> typed_workers(const SweepOptions& options) {
  std::vector<std::string> typed;
  if (options.worker) typed.push_back(*options.worker);
  for (const auto& [label, program] : options.labelled_workers)
    typed.push_back(fmt::format("{}={}", label, program));
  return typed;
}

}  // namespace peakmark
