#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "subprocess/processes.hpp"

namespace peakmark {

struct WorkerCommand {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< NAME=value each; empty: our own
  std::string input;                     ///< what stands on its standard input
};

/// What a worker did next.
struct WorkerEvent {
  enum class Kind {
    observation,  ///< a line on the observation descriptor
    output,       ///< a line on standard output
    error,        ///< a line on standard error
    ended,        ///< the process ended; every whole line it had written has been told before
    late,         ///< nothing until the time given
    interrupted,  ///< the interrupt descriptor became readable
  };
  Kind kind{};
  std::string text;
};

/// The system has not begun a program within its time: its file system does not answer.
class StartTimeout : public IoError {
 public:
  using IoError::IoError;
};

/// One worker: a process in a group of its own, with default signals and only its own descriptors open. It
/// dies with this object, and with this process, even by a kill −9; so does what it started itself, as long
/// as that stays in its group and we live.
class WorkerProcess {
 public:
  using Clock = std::chrono::steady_clock;
  /// The number under which the worker finds its observation descriptor.
  static constexpr int kObservationDescriptor = 3;

  /// Throws IoError when the program cannot be started, of which StartTimeout is one.
  explicit WorkerProcess(const WorkerCommand& command);
  /// Kills the whole group.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Waits for the next event. `interrupt`: a descriptor to watch as well, −1 for none. What was written
  /// before `until`, or before the interrupt, comes first; however much a worker writes after that, `late` or
  /// `interrupted` comes.
  WorkerEvent next(std::optional<Clock::time_point> until, int interrupt = -1);

  /// How it ended, after an event `ended`.
  [[nodiscard]] const WorkerEnd& end() const { return end_; }

  /// SIGKILL to the whole group (a hanging worker may ignore everything else), and waits for the end. False
  /// when it has not ended after `limit`: it is given up (child_end.hpp), and how it ended stays unknown.
  bool kill(std::chrono::milliseconds limit = kKillLimit);

 private:
  struct Stream {
    int descriptor = -1;
    WorkerEvent::Kind kind{};
    std::string rest;  ///< what has come of a line that has not ended
  };

  void spawn(const WorkerCommand& command);
  void drain(Stream& stream);
  void take_lines(Stream& stream, std::string_view bytes);
  void finish();
  [[nodiscard]] bool has_observation() const;

  pid_t pid_ = -1;
  std::optional<ChildWatch> watch_;
  std::array<Stream, 3> streams_;
  std::deque<WorkerEvent> events_;
  WorkerEnd end_;
  bool ended_ = false;
  bool given_up_ = false;
  bool overdue_ = false;  ///< what was written before it was late, or interrupted, has been read
};

/// What a program answered on its standard output.
struct Answer {
  std::string output;
  std::string errors;
  WorkerEnd end;
  /// `exit code 3: what it said on standard error`, or as much of that as there is.
  [[nodiscard]] std::string how_it_ended() const;
};
/// It had not ended within its time, and was killed. The message names the program, its last argument and the
/// limit; whoever asked adds what to look for.
class NoAnswer : public ProtocolError {
 public:
  NoAnswer(const std::string& message, std::string said_so_far)
      : ProtocolError(message), output(std::move(said_so_far)) {}
  std::string output;  ///< what it had answered until then
};

/// Runs a worker to its end. NoAnswer when it does not end within `limit`, or answers without end;
/// Interrupted when `interrupt` became readable.
Answer ask(const WorkerCommand& command, std::chrono::milliseconds limit, int interrupt = -1);

}  // namespace peakmark
