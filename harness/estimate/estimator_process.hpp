#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "subprocess/worker_process.hpp"

namespace peakmark {

class EstimatorWarnings;

/// What stops a question early, and what receives the warnings of estimators.
struct AskLimits {
  int interrupt = -1;                                        ///< readable: throws Interrupted
  std::optional<WorkerProcess::Clock::time_point> deadline;  ///< past: throws DeadlineError
  /// Maximum time for an answer (`--seconds`); null: what the estimator's suite says, else the default.
  std::optional<double> seconds = std::nullopt;
  /// The option that sets `seconds`, for messages. Empty: the command has none, the suite sets the limit.
  std::string option = {};
  EstimatorWarnings* warnings = nullptr;  ///< null: warnings are not shown
};

/// The warnings of estimators: what an estimator in Python reports by `warnings.warn`, and what a program of
/// an estimator writes to standard error.
class EstimatorWarnings {
 public:
  using Show = std::function<void(const std::string& warning)>;

  /// `show`: called with each different warning once, `estimator 'ours': …`.
  explicit EstimatorWarnings(Show show) : show_(std::move(show)) {}
  /// `name`: of the estimator, as it is printed.
  void add(const std::string& name, const std::string& text);

 private:
  Show show_;
  std::set<std::string> shown_;
};

/// Counts the answers of an estimator that are late, so that one that hangs at every question does not take
/// its whole limit for each case.
class LateAnswers {
 public:
  /// Returns an error after three late answers in a row: do not ask then. `name`: of the estimator.
  [[nodiscard]] std::optional<std::string> error(const std::string& name) const;
  void note(const std::optional<std::string>& error);

 private:
  int in_a_row_ = 0;
};

/// A process that answers several questions to an estimator, one line each. If it ends, or is late, a new one
/// answers those that are left: no question costs the answer to another, and each ends within its limit. All
/// estimators outside this process are asked through it.
class EstimatorProcess {
 public:
  /// Returns the command that answers `input`, a question a line. May throw NoEstimateError.
  using Command = std::function<WorkerCommand(const std::string& input)>;

  /// `name`: of the estimator, for messages. `seconds`: limit of an answer, unless AskLimits has one.
  /// `has_warnings`: what it writes to standard error are warnings.
  EstimatorProcess(std::string name, Command command, std::vector<std::string> questions, double seconds,
                   bool has_warnings = false);

  /// Returns the answer to the next question. Throws NoEstimateError if there is none; the next call is about
  /// the question after it.
  std::string next(const AskLimits& limits);

  /// Call it after an answer that is none: what the process prints next may be the answer to this question.
  void discard() { process_.reset(); }

 private:
  std::string answer(const AskLimits& limits);
  void warn(const AskLimits& limits, const std::string& line) const;

  std::string name_;
  Command command_;
  std::vector<std::string> questions_;
  double seconds_;
  bool has_warnings_;
  std::size_t next_ = 0;
  std::optional<WorkerProcess> process_;
};

}  // namespace peakmark
