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
#include "record/subprocess/processes.hpp"

namespace peakmark {

struct WorkerCommand {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< NAME=value entries; empty: the environment of this process
  std::string input;                     ///< its standard input
};

/// An event of a worker.
struct WorkerEvent {
  enum class Kind {
    observation,  ///< a line on the observation descriptor
    output,       ///< a line on standard output
    error,        ///< a line on standard error, without terminal codes
    ended,        ///< the process ended; all its whole lines were returned before
    late,         ///< no event until the given time
    interrupted,  ///< the interrupt descriptor became readable
  };
  Kind kind{};
  std::string text;
};

/// The system did not start a program in time: its file system does not answer.
class StartTimeout : public IoError {
 public:
  using IoError::IoError;
};

/// A worker: a process in its own group, with default signals and only its own descriptors open. It is killed
/// when this object is destroyed and when this process ends, even by kill −9. The destructor also kills
/// processes that the worker started, as long as they stay in its group.
class WorkerProcess {
 public:
  using Clock = std::chrono::steady_clock;
  /// The number of the observation descriptor in the worker.
  static constexpr int kObservationDescriptor = 3;

  /// Throws IoError if the program cannot be started; StartTimeout, a kind of IoError, if it took too long.
  explicit WorkerProcess(const WorkerCommand& command);
  /// Kills the whole group.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Waits for the next event. `interrupt`: a descriptor to watch as well, −1 for none. Output from before
  /// `until`, or before the interrupt, comes first. After that `late` or `interrupted` comes, however much
  /// the worker writes. If the worker was ended by a signal that ends a job, the event is `interrupted` if
  /// the interrupt comes within kSignalOfAJob: the worker has not crashed.
  WorkerEvent next(std::optional<Clock::time_point> until, int interrupt = -1);

  /// Reads what the worker has written to standard output and error so far. Returns the events that next()
  /// has not returned yet; next() will still return them.
  const std::deque<WorkerEvent>& read_output();

  /// Returns how the worker ended, after an event `ended`.
  [[nodiscard]] const WorkerEnd& end() const { return end_; }

  /// Sends SIGKILL to the whole group (a hanging worker may ignore other signals), and waits for the end.
  /// Returns false if the worker has not ended after `limit`: it is then given up (processes.hpp), and `end`
  /// stays unknown.
  bool kill(std::chrono::milliseconds limit = kKillLimit);

 private:
  struct Stream {
    int descriptor = -1;
    WorkerEvent::Kind kind{};
    std::string rest;  ///< a line whose end has not been read yet
  };

  void spawn(const WorkerCommand& command);
  void drain(Stream& stream);
  void take_lines(Stream& stream, std::string_view bytes);
  void finish();
  /// After the end: returns true if the worker was ended by a signal that this process received, too.
  [[nodiscard]] bool was_interrupted_with_us(int interrupt) const;
  [[nodiscard]] bool has_observation() const;

  pid_t pid_ = -1;
  std::optional<ChildWatch> watch_;
  std::array<Stream, 3> streams_;
  std::deque<WorkerEvent> events_;
  WorkerEnd end_;
  bool ended_ = false;
  bool given_up_ = false;
  bool overdue_ = false;  ///< output from before the deadline or interrupt has been read
};

/// The output of a program that has ended.
struct Answer {
  std::string output;
  std::string errors;
  WorkerEnd end;
  /// Returns `exit code 3: TEXT` with the text of standard error, if there is any.
  [[nodiscard]] std::string how_it_ended() const;
};
/// A program did not end in time, and was killed. The message has the program, its last argument and the
/// limit; the caller adds what is missing.
class NoAnswer : public ProtocolError {
 public:
  NoAnswer(const std::string& message, std::string said_so_far)
      : ProtocolError(message), output(std::move(said_so_far)) {}
  std::string output;  ///< from before it was killed
};

/// Runs a program to its end and returns its output. Throws NoAnswer if it does not end within `limit`, or
/// writes without end, and Interrupted when `interrupt` becomes readable.
Answer ask(const WorkerCommand& command, std::chrono::milliseconds limit, int interrupt = -1);

}  // namespace peakmark
