#include "measure/builds/bisection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/files.hpp"
#include "base/text.hpp"
#include "measure/builds/build_comparison.hpp"
#include "measure/builds/commit_worktree.hpp"
#include "measure/device/doctor.hpp"
#include "measure/supervise/case_listeners.hpp"
#include "measure/supervise/run_context.hpp"
#include "measure/supervise/worker_program.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "record/subprocess/signals.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

struct CommitJudgement {
  TrialVerdict verdict = TrialVerdict::skipped;
  std::string reason;
};

CommitJudgement bytes_judgement(const BytesComparison* bytes) {
  if (bytes == nullptr || !bytes->change) return {TrialVerdict::skipped, "it was not measured on both sides"};
  if (*bytes->change != Change::grew || bytes->allowed) return {TrialVerdict::good, ""};
  if (bytes->unsteady) return {TrialVerdict::skipped, "its two memory passes differ by that much"};
  return {TrialVerdict::bad, ""};
}

CommitJudgement time_judgement(const std::optional<TimeComparison>& time) {
  if (!time) return {TrialVerdict::skipped, "it has no time"};
  switch (time->verdict) {
    case TimeVerdict::slower:
      return {TrialVerdict::bad, ""};
    case TimeVerdict::same:
    case TimeVerdict::faster:
      return {TrialVerdict::good, ""};
    default:
      return {TrialVerdict::skipped, fmt::format("time is {}{}{}", to_string(time->verdict),
                                                 time->advice.empty() ? "" : ": ", time->advice)};
  }
}

/// Judges the only case of a comparison with the good commit.
CommitJudgement judge_commit(const RunComparison& comparison, const std::string& metric) {
  const CaseComparison& one = comparison.cases.front();
  if (metric == kOutcomeMetric) return {one.is_lost() ? TrialVerdict::bad : TrialVerdict::good, ""};
  if (one.new_outcome != Outcome::ok || one.base_outcome != Outcome::ok) {
    const bool is_new = one.new_outcome != Outcome::ok;
    return {TrialVerdict::skipped,
            fmt::format("the case is {}{}", to_string(is_new ? one.new_outcome : one.base_outcome),
                        is_new && !one.message.empty() ? ": " + one_line(one.message) : "")};
  }
  return metric == kTimeMetric ? time_judgement(one.time) : bytes_judgement(one.find(metric));
}

class Bisection {
 public:
  explicit Bisection(const BisectRequest& request)
      : request_(request),
        repository_(fs::current_path()),
        good_(repository_.commit(request.good)),
        bad_(repository_.commit(request.bad)) {
    check_line();
    report_.good = repository_.info(good_);
    report_.bad = repository_.info(bad_);
    report_.last_good = report_.good;
    report_.first_bad = report_.bad;
    report_.case_name = request.case_name;
    report_.metric = request.metric;
  }

  BisectReport run() {
    try {
      search();
    } catch (const Interrupted&) {
      if (report_.trials.empty()) throw;
      report_.end = BisectEnd::interrupted;
    }
    conclude();
    return std::move(report_);
  }

 private:
  /// Throws UsageError unless the good commit is an ancestor of the bad one.
  void check_line() const {
    if (good_ == bad_)
      throw UsageError(fmt::format("{} and {} are the same commit, {}; name two", request_.good, request_.bad,
                                   short_commit(good_)));
    if (repository_.is_ancestor(good_, bad_)) return;
    const std::string what = fmt::format("the good commit {} is not an ancestor of the bad commit {}",
                                         request_.good, request_.bad);
    if (repository_.is_ancestor(bad_, good_)) {
      throw UsageError(what + ", but newer; bisect looks for what became worse: name the older one first");
    }
    if (repository_.is_shallow()) {
      throw UsageError(what +
                       " in this clone, which is shallow; `git fetch --unshallow` gets the whole "
                       "history");
    }
    const auto base = repository_.merge_base(good_, bad_);
    if (!base) throw UsageError(what + ": they have no history in common; name commits of one branch");
    throw UsageError(fmt::format("{}; name their merge base {}, or an older commit, as the good one", what,
                                 short_commit(*base)));
  }

  void search() {
    const std::unique_ptr<CommitWorktree> good =
        build_commit(repository_, good_, request_.build_command, signals_.descriptor());
    good_side_ = side_of_commit(*good, repository_, request_.sweep);
    CommitWorktree tried(repository_, commit_cache(repository_) / ("bisect-" + make_run_id()),
                         signals_.descriptor());
    if (!is_bad_worse(tried)) {
      report_.end = BisectEnd::not_worse;
      return;
    }
    // git bisect must not check out, because build outputs may prevent it.
    git(tried, {"bisect", "start", "--no-checkout", bad_, good_});
    for (;;) {
      const std::size_t left = count_candidates();
      if (left == 1) {
        report_.end = BisectEnd::found;
        return;
      }
      say(fmt::format("{} left, about {}", quantity(left, "commit"),
                      quantity(std::bit_width(left - 1), "trial")));
      const std::string commit = repository_.output({"rev-parse", "BISECT_HEAD"}, tried.top());
      const TrialVerdict verdict = try_commit(tried, commit);
      if (!git(tried, {"bisect", verdict_word(verdict), commit})) {
        report_.end = BisectEnd::only_skipped;
        return;
      }
    }
  }

  static const char* verdict_word(TrialVerdict verdict) {
    if (verdict == TrialVerdict::skipped) return "skip";
    return verdict == TrialVerdict::good ? "good" : "bad";
  }

  /// Runs git in the worktree. Returns false if only skipped commits are left.
  bool git(const CommitWorktree& tried, const std::vector<std::string>& arguments) const {
    constexpr int kOnlySkippedLeft = 2;
    const Answer answer = repository_.git(arguments, tried.top());
    if (answer.end.exit_code == 0) return true;
    if (answer.end.exit_code == kOnlySkippedLeft) return false;
    throw IoError(fmt::format("git {}: {}", fmt::join(arguments, " "), git_message(answer)));
  }

  /// Returns how many commits may be the first bad one.
  [[nodiscard]] std::size_t count_candidates() const {
    std::vector<std::string> words{"rev-list", "--count"};
    add_range(words);
    return parse_number<std::size_t>(repository_.output(words)).value_or(0);
  }

  void add_range(std::vector<std::string>& words) const {
    words.insert(words.end(), {report_.first_bad.hash, "--not", good_});
    words.insert(words.end(), found_good_.begin(), found_good_.end());
  }

  /// Measures the bad commit, and chooses the metric if the user has not. Throws if it cannot be measured.
  bool is_bad_worse(CommitWorktree& tried) {
    const CommitSide side = build(tried, report_.bad);
    choose_case(side.worker);
    BisectTrial trial = new_trial(report_.bad);
    const bool times_first = report_.metric == kTimeMetric;
    trial.comparison = compare(side, report_.bad, !times_first);
    const CaseComparison& one = trial.comparison->cases.front();
    if (one.base_outcome != Outcome::ok) {
      throw MeasurementError(fmt::format("{} of the good commit {} is {}; name a commit in which it works",
                                         request_.case_name, request_.good, to_string(one.base_outcome)));
    }
    if (report_.metric.empty()) {
      for (const char* const metric : {kOutcomeMetric, kPeakMetric, kLeakMetric}) {
        if (judge_commit(*trial.comparison, metric).verdict != TrialVerdict::bad) continue;
        report_.metric = metric;
        break;
      }
    }
    if (report_.metric.empty()) {
      report_.metric = kTimeMetric;
      say("bytes are the same; timing it");
      trial.comparison = compare(side, report_.bad, false);
    }
    const CommitJudgement judgement = judge_commit(*trial.comparison, report_.metric);
    if (judgement.verdict == TrialVerdict::skipped) {
      // A time that cannot be judged shows no change; it is an error only if the user asked for times.
      if (!request_.metric.empty()) {
        throw MeasurementError(
            fmt::format("{} of the bad commit {} cannot be judged by {}: {}; choose "
                        "another --metric, or more --rounds",
                        request_.case_name, request_.bad, report_.metric, judgement.reason));
      }
      trial.reason = judgement.reason;
    }
    trial.verdict = judgement.verdict;
    report_.trials.push_back(std::move(trial));
    return judgement.verdict == TrialVerdict::bad;
  }

  /// Plans the case with the name that it has in the bad commit.
  void choose_case(const fs::path& worker) {
    cases_.description = describe_worker(worker, signals_.descriptor());
    cases_.selection = select(request_.sweep.selection, cases_.description, gather_machine_facts().devices);
    std::vector<std::string> names;
    std::vector<PlannedCase> found;
    names.reserve(cases_.selection.planned.size());
    for (const PlannedCase& planned : cases_.selection.planned) {
      names.push_back(planned.name);
      const bool is_it =
          planned.name == request_.case_name || full_case_name(planned.sweep_case) == request_.case_name;
      if (is_it) found.push_back(planned);
    }
    if (found.empty()) {
      throw UsageError(
          fmt::format("--case {}: the suite has no such case in the bad commit {}{}; for values "
                      "that are not in the suite write AXIS=VALUES, such as nx=512",
                      request_.case_name, request_.bad, suggest_word(request_.case_name, names)));
    }
    cases_.selection.planned = std::move(found);
    report_.case_name = cases_.selection.planned.front().name;
  }

  [[nodiscard]] BisectTrial new_trial(const CommitInfo& commit) const {
    BisectTrial trial;
    trial.commit = commit;
    const std::string count = repository_.output({"rev-list", "--count", commit.hash, "--not", good_});
    trial.commits_after_good = parse_number<std::size_t>(count).value_or(0);
    return trial;
  }

  CommitSide build(CommitWorktree& tried, const CommitInfo& commit) const {
    say(fmt::format("{} {}: building", short_commit(commit.hash), commit.subject));
    tried.check_out(commit.hash);
    tried.build(request_.build_command);
    return side_of_commit(tried, repository_, request_.sweep);
  }

  [[nodiscard]] RunComparison compare(const CommitSide& side, const CommitInfo& commit,
                                      bool memory_only) const {
    BuildComparisonOptions two{request_.sweep, {},      scratch_.path() / "good.json",
                               request_.force, &cases_, &signals_};
    set_sides(two, good_side_, side);
    two.sweep.run_file = scratch_.path() / "tried.json";
    two.sweep.memory_only = memory_only;
    const ComparedBuilds measured = run_two_builds(two);
    if (measured.code == ExitCode::interrupted) throw Interrupted("interrupted");
    if (!measured.has_both) throw MeasurementError("the case cannot be measured");
    const auto read = [](const fs::path& file) { return RunToCompare{file.string(), read_run(file)}; };
    RunComparison comparison = compare_runs(read(two.base_run_file), read(two.sweep.run_file), request_.force,
                                            request_.allow_growth);
    if (comparison.cases.empty()) {
      throw UsageError(fmt::format("{} is not compared: {}; choose a good commit after that change",
                                   request_.case_name, fmt::join(comparison.notes, "; ")));
    }
    name_commit(comparison.base, report_.good);
    name_commit(comparison.next, commit);
    return comparison;
  }

  /// The run files are removed at the end, and a worker may not know its commit.
  static void name_commit(ComparedSide& side, const CommitInfo& commit) {
    side.file = short_commit(commit.hash);
    side.commit = commit.hash;
  }

  TrialVerdict try_commit(CommitWorktree& tried, const std::string& commit) {
    BisectTrial trial = new_trial(repository_.info(commit));
    // Errors of this machine end the search; errors of the commit do not.
    try {
      trial.comparison = compare(build(tried, trial.commit), trial.commit, report_.metric != kTimeMetric);
      const CommitJudgement judgement = judge_commit(*trial.comparison, report_.metric);
      trial.verdict = judgement.verdict;
      trial.reason = judgement.reason;
    } catch (const UsageError& error) {
      trial.reason = error.what();
    } catch (const ProtocolError& error) {
      trial.reason = error.what();
    } catch (const MeasurementError& error) {
      trial.reason = error.what();
    }
    const TrialVerdict verdict = trial.verdict;
    say(fmt::format("{} {}: {}{}", short_commit(commit), trial.commit.subject,
                    verdict == TrialVerdict::skipped ? "skipped: " : verdict_word(verdict), trial.reason));
    if (verdict == TrialVerdict::bad) report_.first_bad = trial.commit;
    if (verdict == TrialVerdict::good) {
      found_good_.push_back(commit);
      report_.last_good = trial.commit;
    }
    report_.trials.push_back(std::move(trial));
    return verdict;
  }

  void conclude() {
    std::ranges::stable_sort(report_.trials, {}, &BisectTrial::commits_after_good);
    remove_builds(repository_, kKeptBuilds);
    if (report_.end == BisectEnd::not_worse) return;
    constexpr int kMaxCandidates = 1000;
    std::vector<std::string> words{"rev-list", fmt::format("--max-count={}", kMaxCandidates)};
    add_range(words);
    std::string list = repository_.output(words) + "\n";
    for (std::size_t end = 0; (end = list.find('\n')) != std::string::npos; list.erase(0, end + 1))
      report_.candidates.push_back(list.substr(0, end));
    report_.command = next_command();
  }

  /// Returns the command that compares the first bad commit with its parent, or that continues the search.
  [[nodiscard]] std::string next_command() const {
    const bool is_found = report_.end == BisectEnd::found;
    if (report_.end == BisectEnd::only_skipped) return "";
    std::string command = is_found ? "peakmark compare" : "peakmark bisect";
    const auto add = [&](const std::string& word) { command += " " + shell_word(word); };
    const auto add_option = [&](const char* name, const std::string& value) {
      if (value.empty()) return;
      add(name);
      add(value);
    };
    const SweepOptions& sweep = request_.sweep;
    for (const fs::path& suite : sweep.selection.suites) add(suite.string());
    if (is_found) {
      add("--commits");
      add(short_commit(repository_.output({"rev-parse", report_.first_bad.hash + "^"})));
    } else {
      add(short_commit(report_.last_good.hash));
    }
    add(short_commit(report_.first_bad.hash));
    if (is_found) {
      add_option("--filter", exactly(report_.case_name));
    } else {
      add_option("--case", report_.case_name);
      add_option("--metric", report_.metric);
    }
    for (const std::string& axis : sweep.selection.axes) add_option("--axis", axis);
    add_option("--worker", sweep.worker.value_or(""));
    add_option("--backend", sweep.selection.backend.value_or(""));
    add_option("--device", sweep.selection.device);
    add_option("--cache", sweep.cache.value_or(""));
    if (is_found) {
      add_option("--build-command", request_.build_command);
    } else {
      add("--");
      add(request_.build_command);
    }
    return command;
  }

  const BisectRequest& request_;
  const SignalWatch signals_;
  const GitRepository repository_;
  const std::string good_;
  const std::string bad_;
  const ScratchFolder scratch_;
  CommitSide good_side_;
  DescribedCases cases_;
  std::vector<std::string> found_good_;
  BisectReport report_;
};

}  // namespace

const BisectTrial* BisectReport::trial(const std::string& hash) const {
  const auto found =
      std::ranges::find_if(trials, [&](const BisectTrial& one) { return one.commit.hash == hash; });
  return found == trials.end() ? nullptr : &*found;
}

BisectReport bisect(const BisectRequest& request) {
  return Bisection(request).run();
}

}  // namespace peakmark
