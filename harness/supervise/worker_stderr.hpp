#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "supervise/supervisor.hpp"

namespace peakmark {

/// What a worker says beside its observations. The last line is held back until more is heard of the worker:
/// where it dies of what it said, the error says it, once.
class WorkerStderr {
 public:
  WorkerStderr(const SupervisorOptions& options, SupervisorListener& listener)
      : name_(options.worker.program.filename().string() + ": "), listener_(listener) {}

  void hear(const std::string& text) {
    tell();
    // Programs begin their messages with their name; whoever hears them through us knows who speaks.
    held_ = text.starts_with(name_) ? text.substr(name_.size()) : text;
    if (!held_->empty()) last_ = *held_;
  }
  /// Tells the listener what is held back.
  void tell() {
    if (held_) listener_.said(*held_);
    held_.reset();
  }
  void forget() { last_.clear(); }
  void stand_for(const std::string& text) { last_ = text; }
  [[nodiscard]] const std::string& last() const { return last_; }

  /// A worker that has ended in the middle of nothing. Throws RecorderError where its recorder did not come
  /// up.
  void end(const WorkerEnd& end) {
    if (end.exit_code == static_cast<int>(ExitCode::recorder)) {
      throw_error_of_exit_code(*end.exit_code,
                               last_.empty() ? "the recorder did not come up in the worker" : last_);
    }
    tell();
  }

 private:
  std::string name_;
  SupervisorListener& listener_;
  std::optional<std::string> held_;
  std::string last_;
};

}  // namespace peakmark
