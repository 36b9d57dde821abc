#include "measure/supervise/supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <deque>
#include <list>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "measure/estimate/answer.hpp"
#include "measure/runfile/worker_protocol.hpp"

namespace peakmark {
namespace {

constexpr int kMaxFailedStarts = 3;
// A worker gets its cases in batches. When a worker is replaced, the new one gets the rest of the batch
// again, so the cost is quadratic in the batch size; but each start costs as much as some hundred cases.
// Therefore a batch grows while workers complete their batches.
constexpr std::size_t kFirstBatch = 1000;
constexpr std::size_t kMaxBatch = 8000;
constexpr std::chrono::seconds kTick{1};

using Kind = WorkerEvent::Kind;
using Clock = WorkerProcess::Clock;

std::string seconds_text(std::chrono::milliseconds limit) {
  return fmt::format("{:g} s", static_cast<double>(limit.count()) / 1000);
}

Observation failed_observation(const PlannedCase& planned, Outcome outcome, std::string message) {
  Observation observation;
  observation.case_name = planned.name;
  observation.axes = planned.sweep_case.parameters;
  observation.variant = planned.sweep_case.variant;
  observation.backend = planned.sweep_case.backend;
  observation.outcome = outcome;
  observation.message = std::move(message);
  return observation;
}

WorkerCommand command_for(const SupervisorOptions& options, std::vector<std::string> arguments) {
  WorkerCommand command = options.worker;
  arguments.insert(arguments.end(),
                   {"--observations-fd", std::to_string(WorkerProcess::kObservationDescriptor)});
  command.arguments.insert(command.arguments.begin(), arguments.begin(), arguments.end());
  return command;
}

/// Detects output of a worker in its timed calls. Output and observations come through different pipes, so
/// only the marks in the output show the order.
class TimedOutput {
 public:
  /// Processes a line, and removes a mark from it. Returns false if the line had nothing else.
  bool take(WorkerEvent& event) {
    std::string& timed_case = timed_case_[event.kind];
    const std::optional<TimedMark> mark = take_timed_mark(event.text);
    if (!timed_case.empty() && (!mark || !event.text.empty())) printed_ = timed_case;
    if (!mark) return true;
    timed_case = mark->begins ? mark->case_name : "";
    return !event.text.empty();
  }
  /// Returns whether a case has printed in its timed calls, including output that is not processed yet.
  [[nodiscard]] bool has_printed(const std::string& case_name, const std::deque<WorkerEvent>& unread) const {
    TimedOutput all = *this;
    for (WorkerEvent event : unread) {
      if (event.kind == Kind::output || event.kind == Kind::error) all.take(event);
      if (all.printed_ == case_name) return true;
    }
    return all.printed_ == case_name;
  }

 private:
  std::map<Kind, std::string> timed_case_;  ///< for each stream; empty outside timed calls
  std::string printed_;                     ///< the last case that printed in its timed calls
};

/// The output of a worker besides its observations. The last line is buffered until the worker does something
/// else, so that a fatal line appears once, in the error.
class WorkerStderr {
 public:
  WorkerStderr(const SupervisorOptions& options, SupervisorListener& listener)
      : name_(options.worker.program.filename().string() + ": "), listener_(listener) {}

  void add(const std::string& text) {
    flush();
    // Programs begin their messages with their name, which the listener adds itself.
    buffered_ = text.starts_with(name_) ? text.substr(name_.size()) : text;
    if (!buffered_->empty()) last_ = *buffered_;
  }
  /// Passes the buffered line to the listener.
  void flush() {
    if (buffered_) listener_.said(*buffered_);
    buffered_.reset();
  }
  void clear_last() { last_.clear(); }
  /// Replaces the last line with a more informative reason.
  void set_last(const std::string& text) { last_ = text; }
  [[nodiscard]] const std::string& last() const { return last_; }

  /// Handles the end of a worker between two cases. Throws RecorderError if its recorder did not start.
  void end(const WorkerEnd& end) {
    if (end.exit_code == static_cast<int>(ExitCode::recorder)) {
      throw_error_of_exit_code(*end.exit_code,
                               last_.empty() ? "the recorder did not start in the worker" : last_);
    }
    flush();
  }

 private:
  std::string name_;
  SupervisorListener& listener_;
  std::optional<std::string> buffered_;
  std::string last_;
};

/// Measures cases by workers, one after the other.
class Supervision {
 public:
  Supervision(const SupervisorOptions& options, const std::vector<const PlannedCase*>& cases,
              SupervisorListener& listener)
      : options_(options),
        listener_(listener),
        stderr_(options, listener),
        pending_(cases.begin(), cases.end()) {}

  Stop run() {
    while (!pending_.empty()) {
      if (options_.deadline && Clock::now() >= *options_.deadline) return Stop::deadline;
      const std::size_t batch = std::min(pending_.size(), batch_);
      const std::size_t left = pending_.size() - batch;
      listener_.starting(batch);
      WorkerProcess worker(command());
      current_ = nullptr;
      timed_output_ = {};
      progressed_ = false;
      stderr_.clear_last();
      set_limit(options_.start_limit);
      const std::optional<Stop> stop = serve(worker);
      listener_.ended();
      if (stop) return *stop;
      batch_ = pending_.size() == left ? std::min(2 * batch_, kMaxBatch) : kFirstBatch;
      if (progressed_) {
        failed_starts_ = 0;
      } else {
        note_failed_start(worker.end());
      }
    }
    return Stop::done;
  }

 private:
  WorkerCommand command() const {
    WorkerCommand command = command_for(options_, {"--cases", "-"});
    command.input.clear();
    std::size_t cases = 0;
    for (const PlannedCase* planned : pending_) {
      if (++cases > batch_) break;
      command.input += planned->name + "\n";
    }
    return command;
  }

  void set_limit(std::chrono::milliseconds limit) { limit_ = Clock::now() + limit; }

  /// Handles the events of a worker until it has ended. Returns why the run must stop, if it must.
  std::optional<Stop> serve(WorkerProcess& worker) {
    for (;;) {
      const auto until = options_.deadline ? std::min(limit_, *options_.deadline) : limit_;
      WorkerEvent event = worker.next(std::min(until, Clock::now() + kTick), options_.interrupt);
      if (event.kind == Kind::late && Clock::now() < until) {
        stderr_.flush();
        listener_.waiting();
        continue;
      }
      switch (event.kind) {
        case Kind::observation:
          stderr_.flush();
          if (!take_line(event.text, worker)) return std::nullopt;
          break;
        case Kind::output:
        case Kind::error:
          if (timed_output_.take(event)) stderr_.add(event.text);
          break;
        case Kind::ended:
          note_end(worker.end());
          return std::nullopt;
        case Kind::interrupted:
          stderr_.flush();
          if (const std::string left = kill(worker); !left.empty()) listener_.said(left);
          if (measured_) give_up_estimators(NoEstimate::no_answer_in_time, "the run was interrupted before");
          return Stop::interrupted;
        case Kind::late: {
          stderr_.flush();
          const std::string left = kill(worker);
          // After all cases, a hanging worker only has to be killed.
          if (options_.deadline && Clock::now() >= *options_.deadline && !pending_.empty()) {
            if (!left.empty()) listener_.said(left);
            if (measured_) give_up_estimators(NoEstimate::no_answer_in_time, "the deadline came before");
            return Stop::deadline;
          }
          note_late(left);
          return std::nullopt;
        }
      }
    }
  }

  /// Returns false if the line is malformed; the worker is then killed.
  bool take_line(const std::string& text, WorkerProcess& worker) {
    try {
      WorkerLine line = parse_worker_line(text);
      if (line.start) start(*line.start, line.bytes);
      if (line.step) begin_step(*line.step);
      if (line.observation) {
        note_timed_output(*line.observation, worker);
        finish(*line.observation);
      }
      if (line.answer) take_answer(*line.answer);
      if (line.reference) note_reference(*line.reference);
      return true;
    } catch (const ProtocolError& error) {
      fail_malformed(error.what(), worker);
    }
    return false;
  }

  void start(const std::string& name, std::optional<Size> bytes) {
    if (current_ != nullptr) throw ProtocolError("it starts a case in the middle of another one");
    const auto found = std::ranges::find_if(pending_, [&](const auto* one) { return one->name == name; });
    if (found == pending_.end())
      throw ProtocolError("it starts the case " + name + ", which it was not given");
    current_ = *found;
    step_.clear();
    progressed_ = true;
    stderr_.clear_last();
    bytes_ = bytes;
    case_begin_ = Clock::now();
    set_limit(options_.case_limit.limit(bytes));
    listener_.started(**found);
  }

  void begin_step(const std::string& step) {
    if (current_ == nullptr) throw ProtocolError("it reports a step outside a case");
    step_ = step;
    if (measured_) set_limit(options_.case_limit.base);
  }

  void note_reference(const ReferenceTime& time) {
    if (current_ != nullptr) throw ProtocolError("it reports the reference case in the middle of a case");
    listener_.reference(time);
    set_limit(options_.start_limit);
  }

  void note_timed_output(Observation& observation, WorkerProcess& worker) const {
    if (observation.outcome != Outcome::ok || !observation.gpu_time) return;
    if (!timed_output_.has_printed(observation.case_name, worker.read_output())) return;
    observation.message += observation.message.empty() ? "" : "; ";
    observation.message += "prints in its timed call: its times include that";
  }

  void finish(Observation& observation) {
    if (current_ == nullptr || current_->name != observation.case_name) {
      throw ProtocolError("it reports the case " + observation.case_name + ", which it has not started");
    }
    observation.axes.share(current_->sweep_case.parameters);
    if (is_unasked(observation)) {
      // The worker asks its estimators last, so that a failure there does not affect this observation.
      measured_ = std::move(observation);
      set_limit(options_.case_limit.base);
      return;
    }
    record(std::move(observation));
    set_limit(options_.start_limit);
  }

  void take_answer(EstimateObservation& answer) {
    EstimateObservation* const estimate = measured_ ? next_unasked(*measured_) : nullptr;
    if (estimate == nullptr || estimate->estimator != answer.estimator)
      throw ProtocolError("it reports an answer of '" + answer.estimator + "', which it was not asked for");
    *estimate = std::move(answer);
    if (is_unasked(*measured_)) return;
    record_measured();
    set_limit(options_.start_limit);
  }

  static EstimateObservation* next_unasked(Observation& observation) {
    if (observation.estimate && !observation.estimate->is_asked) return &*observation.estimate;
    const auto found = std::ranges::find(observation.other_estimates, false, &EstimateObservation::is_asked);
    return found == observation.other_estimates.end() ? nullptr : &*found;
  }

  void record_measured() { record(*std::exchange(measured_, std::nullopt)); }

  /// Records the current case as it was measured. `why`: the error of the estimator that is being asked.
  void give_up_estimators(NoEstimate reason, const std::string& why) {
    std::string error = NoEstimateError(reason, why).what();
    while (EstimateObservation* const estimate = next_unasked(*measured_)) {
      estimate->is_asked = true;
      estimate->error = std::exchange(
          error, NoEstimateError(reason, "not asked: an estimator before it did not answer").what());
    }
    record_measured();
  }

  void record(Observation observation) {
    const std::chrono::duration<double> spent = Clock::now() - case_begin_;
    observation.seconds = std::round(spent.count() * 1e6) / 1e6;
    const auto place = std::ranges::find(pending_, current_);
    listener_.finished(*current_, observation);
    pending_.erase(place);
    current_ = nullptr;
  }

  void fail_current(Outcome outcome, const std::string& message) {
    if (measured_) {
      give_up_estimators(outcome == Outcome::timeout ? NoEstimate::no_answer_in_time : NoEstimate::died,
                         message);
      return;
    }
    record(failed_observation(*current_, outcome, message));
  }

  std::string with_last_words(const std::string& message) const {
    return stderr_.last().empty() ? message : message + "; its last message: " + stderr_.last();
  }

  /// Returns `60 s (--timeout)`, or how the limit was computed if it depends on the case.
  std::string limit_text() const {
    const CaseLimit& limit = options_.case_limit;
    const std::string seconds = seconds_text(limit.limit(bytes_));
    if (!bytes_ || limit.per_gib.count() == 0) return seconds + " (--timeout)";
    return fmt::format("{} ({} and {} per GiB for {}; --timeout sets another limit)", seconds,
                       seconds_text(limit.base), seconds_text(limit.per_gib), format_size(*bytes_));
  }

  /// Returns `, in STEP` if the worker has reported a step.
  std::string in_step() const { return step_.empty() ? "" : ", in " + step_; }

  /// Kills the worker. Returns a message if it cannot be killed, else an empty text.
  [[nodiscard]] std::string kill(WorkerProcess& worker) const {
    return worker.kill(options_.kill_limit) ? ""
                                            : given_up_text(worker.pid()) + "; the run continues without it";
  }

  void fail_malformed(const std::string& why, WorkerProcess& worker) {
    const std::string left = kill(worker);
    stderr_.set_last(why);
    if (current_ != nullptr) {
      fail_current(Outcome::crashed,
                   "malformed output from worker: " + why + (left.empty() ? "" : "; " + left));
    }
  }

  void note_end(const WorkerEnd& end) {
    if (current_ != nullptr) {
      stderr_.flush();
      std::string how = "the worker ended in the middle of the case" + in_step() + ": " + end.text();
      if (end.signal == SIGKILL) how += ": killed by the system for lack of memory, or by another process";
      fail_current(Outcome::crashed, with_last_words(how));
    } else {
      stderr_.end(end);
    }
  }

  /// `left`: result of kill().
  void note_late(const std::string& left) {
    if (measured_) {
      fail_current(
          Outcome::timeout,
          with_last_words(fmt::format(
              "{} did not answer within {}; make it faster, or raise the limit with --timeout",
              step_.empty() ? "an estimator of the worker" : step_, seconds_text(options_.case_limit.base))) +
              (left.empty() ? "" : "; " + left));
    } else if (current_ != nullptr) {
      fail_current(Outcome::timeout, with_last_words("no result after " + limit_text() + in_step() + "; " +
                                                     (left.empty() ? "the worker was killed" : left)));
    } else if (!pending_.empty()) {
      stderr_.set_last("it started no case within " + seconds_text(options_.start_limit) +
                       (left.empty() ? "" : "; " + left));
    }
  }

  void note_failed_start(const WorkerEnd& end) {
    const std::string why =
        with_last_words(options_.worker.program.string() + " ended before its first case: " + end.text());
    if (end.exit_code) throw_error_of_exit_code(*end.exit_code, why);
    if (++failed_starts_ < kMaxFailedStarts) return;
    throw ProtocolError("three workers in a row could not start: " + why);
  }

  const SupervisorOptions& options_;
  SupervisorListener& listener_;
  WorkerStderr stderr_;
  std::list<const PlannedCase*> pending_;
  std::size_t batch_ = kFirstBatch;
  const PlannedCase* current_ = nullptr;
  TimedOutput timed_output_;
  std::optional<Observation> measured_;  ///< observation of the current case, while its estimators are asked
  std::string step_;                     ///< of the current case
  std::optional<Size> bytes_;            ///< bytes that it needs, if the worker has reported them
  bool progressed_ = false;
  int failed_starts_ = 0;
  Clock::time_point limit_;
  Clock::time_point case_begin_;  ///< of the current case
};

}  // namespace

std::vector<const PlannedCase*> pointers_to(const std::vector<PlannedCase>& cases) {
  std::vector<const PlannedCase*> pointers;
  pointers.reserve(cases.size());
  for (const PlannedCase& planned : cases) pointers.push_back(&planned);
  return pointers;
}

Stop supervise(const SupervisorOptions& options, const std::vector<const PlannedCase*>& cases,
               SupervisorListener& listener) {
  return Supervision(options, cases, listener).run();
}

Stop supervise(const SupervisorOptions& options, const std::vector<PlannedCase>& cases,
               SupervisorListener& listener) {
  return supervise(options, pointers_to(cases), listener);
}

ReferenceTime measure_reference(const SupervisorOptions& options, SupervisorListener& listener) {
  auto until = Clock::now() + options.start_limit;
  if (options.deadline) until = std::min(until, *options.deadline);
  WorkerStderr output(options, listener);
  WorkerProcess worker(command_for(options, {"--reference"}));
  for (;;) {
    const WorkerEvent event = worker.next(until, options.interrupt);
    switch (event.kind) {
      case Kind::observation:
        output.flush();
        try {
          if (const auto line = parse_worker_line(event.text); line.reference) {
            if (!line.reference->copy_ns) listener.said("the reference case: the device reported no time");
            return *line.reference;
          }
        } catch (const ProtocolError& error) {
          listener.said(std::string("the reference case: ") + error.what());
          return {};
        }
        break;
      case Kind::output:
      case Kind::error:
        output.add(event.text);
        break;
      case Kind::ended:
        output.end(worker.end());
        listener.said("the reference case has no time: the worker ended with " + worker.end().text());
        return {};
      case Kind::late:
        output.flush();
        listener.said(options.deadline && Clock::now() >= *options.deadline
                          ? "the reference case had no time before the deadline"
                          : "the reference case had no time within " + seconds_text(options.start_limit));
        return {};
      case Kind::interrupted:
        output.flush();
        return {};
    }
  }
}

}  // namespace peakmark
