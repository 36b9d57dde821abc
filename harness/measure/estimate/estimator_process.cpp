#include "measure/estimate/estimator_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/estimate/answer.hpp"

namespace peakmark {
namespace {

using Clock = WorkerProcess::Clock;

constexpr std::size_t kMaxMessageBytes = 400;
constexpr int kMaxLate = 3;

void check_deadline(const AskLimits& limits) {
  if (limits.deadline && Clock::now() >= *limits.deadline) throw DeadlineError("the deadline came");
}

}  // namespace

EstimatorProcess::EstimatorProcess(std::string name, Command command, std::vector<std::string> questions,
                                   double seconds, bool has_warnings)
    : name_(std::move(name)),
      command_(std::move(command)),
      questions_(std::move(questions)),
      seconds_(seconds),
      has_warnings_(has_warnings) {}

std::optional<std::string> LateAnswers::error(const std::string& name) const {
  if (in_a_row_ < kMaxLate) return std::nullopt;
  return fmt::format("{}: {} was not asked: it did not answer in time {} times in a row",
                     to_string(NoEstimate::no_answer_in_time), name, kMaxLate);
}

void LateAnswers::note(const std::optional<std::string>& error) {
  const bool is_late = error && error->starts_with(to_string(NoEstimate::no_answer_in_time));
  in_a_row_ = is_late ? in_a_row_ + 1 : 0;
}

void EstimatorWarnings::add(const std::string& name, const std::string& text) {
  const std::string warning = name + ": " + shortened(text, kMaxMessageBytes);
  if (shown_.insert(warning).second) show_(warning);
}

void EstimatorProcess::warn(const AskLimits& limits, const std::string& line) const {
  if (has_warnings_ && limits.warnings != nullptr && !line.empty()) limits.warnings->add(name_, line);
}

std::string EstimatorProcess::answer(const AskLimits& limits) {
  check_deadline(limits);
  const double seconds = limits.seconds.value_or(seconds_);
  auto until = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
  if (limits.deadline) until = std::min(until, *limits.deadline);
  std::string last_message;
  for (;;) {
    const WorkerEvent event = process_->next(until, limits.interrupt);
    switch (event.kind) {
      case WorkerEvent::Kind::output:
        // Output from before the answer may be read after it.
        for (const WorkerEvent& later : process_->read_output()) {
          if (later.kind == WorkerEvent::Kind::error) warn(limits, without_terminal_codes(later.text));
        }
        return event.text;
      case WorkerEvent::Kind::error:
        warn(limits, event.text);
        if (!event.text.empty())
          last_message = "; its last message: " + shortened(event.text, kMaxMessageBytes);
        break;
      case WorkerEvent::Kind::observation:
        break;
      case WorkerEvent::Kind::ended:
        throw NoEstimateError(NoEstimate::died,
                              "its process ended with " + process_->end().text() + last_message);
      case WorkerEvent::Kind::late:
        check_deadline(limits);
        throw NoEstimateError(
            NoEstimate::no_answer_in_time,
            fmt::format("{} did not answer within {:g} s{}; make it faster, or raise the limit with {}",
                        name_, seconds, last_message,
                        limits.option.empty() ? "`seconds` in its [[estimator]]" : limits.option));
      case WorkerEvent::Kind::interrupted:
        throw Interrupted("interrupted");
    }
  }
}

std::string EstimatorProcess::next(const AskLimits& limits) {
  const std::size_t question = next_++;
  const bool is_shared = process_.has_value();
  for (bool is_again = !is_shared;; is_again = true) {
    try {
      if (is_again) {
        std::string input;
        for (std::size_t i = question; i < questions_.size(); ++i) input += questions_[i] + "\n";
        process_.emplace(command_(input));
      }
      return answer(limits);
    } catch (const NoEstimateError& error) {
      process_.reset();
      // Earlier questions may have caused its end, so it is asked once more, alone.
      if (error.reason() != NoEstimate::died || is_again) throw;
    }
  }
}

}  // namespace peakmark
