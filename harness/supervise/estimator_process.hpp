#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "subprocess/worker_process.hpp"

namespace peakmark {

/// What stops a question early.
struct AskLimits {
  int interrupt = -1;                                        ///< readable: throws Interrupted
  std::optional<WorkerProcess::Clock::time_point> deadline;  ///< past: throws DeadlineError
  /// Maximum time for an answer (`--seconds`); null: what the estimator's suite says, else the default.
  std::optional<double> seconds = std::nullopt;
  /// The option that sets `seconds`, for messages. Empty: the command has none, the suite sets the limit.
  std::string option = {};
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
  EstimatorProcess(std::string name, Command command, std::vector<std::string> questions, double seconds);

  /// Returns the answer to the next question. Throws NoEstimateError if there is none; the next call is about
  /// the question after it.
  std::string next(const AskLimits& limits);

  /// Call it after an answer that is none: what the process prints next may be the answer to this question.
  void discard() { process_.reset(); }

 private:
  std::string answer(const AskLimits& limits);

  std::string name_;
  Command command_;
  std::vector<std::string> questions_;
  double seconds_;
  std::size_t next_ = 0;
  std::optional<WorkerProcess> process_;
};

}  // namespace peakmark
