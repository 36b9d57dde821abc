#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "record/subprocess/worker_process.hpp"

namespace peakmark {

class EstimatorWarnings;

/// What ends a question early, and what receives the warnings of estimators.
struct AskLimits {
  int interrupt = -1;  ///< a descriptor; when it is readable: throws Interrupted
  std::optional<WorkerProcess::Clock::time_point> deadline;  ///< when it has passed: throws DeadlineError
  /// Maximum time for an answer (`--seconds`); null: the limit in the estimator's suite, else the default.
  std::optional<double> seconds = std::nullopt;
  /// The option that sets `seconds`, for messages. Empty: the command has no such option; the suite sets the
  /// limit.
  std::string option = {};
  EstimatorWarnings* warnings = nullptr;  ///< null: warnings are not shown
};

/// The warnings of estimators: what a Python estimator reports by `warnings.warn`, and what an estimator's
/// program writes to standard error.
class EstimatorWarnings {
 public:
  using Show = std::function<void(const std::string& warning)>;

  /// `show`: called once with each different warning, `estimator 'ours': …`.
  explicit EstimatorWarnings(Show show) : show_(std::move(show)) {}
  /// `name`: the estimator's name in messages.
  void add(const std::string& name, const std::string& text);

 private:
  Show show_;
  std::set<std::string> shown_;
};

/// Counts the late answers of an estimator, so that one that hangs at every question does not use up its
/// whole limit for each case.
class LateAnswers {
 public:
  /// Returns an error after three late answers in a row: the estimator must not be asked again. `name`: of
  /// the estimator.
  [[nodiscard]] std::optional<std::string> error(const std::string& name) const;
  void note(const std::optional<std::string>& error);

 private:
  int in_a_row_ = 0;
};

/// A process that answers several questions to an estimator, one per line. If it ends, or is late, a new
/// process answers the remaining questions: no question costs another its answer, and each ends within its
/// limit. All estimators outside this process are asked through this class.
class EstimatorProcess {
 public:
  /// Returns the command that answers `input`, which has one question per line. May throw NoEstimateError.
  using Command = std::function<WorkerCommand(const std::string& input)>;

  /// `name`: the estimator's name, for messages. `seconds`: limit of an answer, unless AskLimits has one.
  /// `has_warnings`: whether lines on standard error are warnings.
  EstimatorProcess(std::string name, Command command, std::vector<std::string> questions, double seconds,
                   bool has_warnings = false);

  /// Returns the answer to the next question. Throws NoEstimateError if there is no answer; the next call is
  /// about the question after it.
  std::string next(const AskLimits& limits);

  /// Call it after an invalid answer: the next output of the process may be the answer to the old question.
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
