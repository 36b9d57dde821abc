#include "record/subprocess/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "record/subprocess/signals.hpp"
#include "record/subprocess/spawn.hpp"

namespace peakmark {
namespace {

// Limits for a worker that writes without newlines, or without end.
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxErrorBytes = std::size_t{1} << 20;

[[noreturn]] void fail(const char* what) {
  throw io_error("", what, errno);
}

/// Returns a file in memory with the worker's input: unlike a pipe it never blocks, regardless of the size.
int input_descriptor(const std::string& input) {
  Descriptor file(::memfd_create("peakmark-cases", MFD_CLOEXEC));
  if (file.get() < 0) fail("memfd_create");
  std::size_t written = 0;
  while (written < input.size()) {
    const ssize_t part = ::write(file.get(), input.data() + written, input.size() - written);
    if (part < 0) fail("writing the worker's input");
    written += static_cast<std::size_t>(part);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file.release();
}

int milliseconds_until(std::optional<WorkerProcess::Clock::time_point> until) {
  if (!until) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*until - WorkerProcess::Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

std::string_view without_last_line_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

std::string no_answer_text(const WorkerCommand& command, std::chrono::milliseconds limit,
                           std::string_view errors) {
  const std::string_view said = without_last_line_end(errors);
  return fmt::format("{}{}{} did not end within {:g} s and was killed{}{}", command.program.string(),
                     command.arguments.empty() ? "" : " ",
                     command.arguments.empty() ? "" : command.arguments.back(),
                     static_cast<double>(limit.count()) / 1000,
                     said.empty() ? "" : "; its last message: ", said.substr(said.rfind('\n') + 1));
}

}  // namespace

std::string Answer::how_it_ended() const {
  const std::string_view said = without_last_line_end(errors);
  return fmt::format("{}{}{}", end.text(), said.empty() ? "" : ": ", said);
}

WorkerProcess::WorkerProcess(const WorkerCommand& command) {
  streams_[0].kind = WorkerEvent::Kind::observation;
  streams_[1].kind = WorkerEvent::Kind::output;
  streams_[2].kind = WorkerEvent::Kind::error;
  spawn(command);
}

void WorkerProcess::spawn(const WorkerCommand& command) {
  const Descriptor input(input_descriptor(command.input));
  Pipe observations, output, errors;
  pid_ = peakmark::spawn(
      command, {input.get(), output.write_end.get(), errors.write_end.get(), observations.write_end.get()});
  // Nothing below throws: if a constructor throws, the destructor, which kills the process, does not run.
  const std::array<Pipe*, 3> pipes{&observations, &output, &errors};
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].descriptor = pipes[i]->read_end.release();
    ::fcntl(streams_[i].descriptor, F_SETFL, O_NONBLOCK);
  }
  watch_.emplace(pid_);
}

WorkerProcess::~WorkerProcess() {
  kill();
  for (const Stream& stream : streams_) {
    if (stream.descriptor >= 0) ::close(stream.descriptor);
  }
}

void WorkerProcess::take_lines(Stream& stream, std::string_view bytes) {
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    stream.rest += bytes.substr(0, end);
    events_.push_back({stream.kind, std::exchange(stream.rest, {})});
    bytes.remove_prefix(end + 1);
  }
  stream.rest += bytes;
  if (stream.rest.size() > kMaxLineBytes) events_.push_back({stream.kind, std::exchange(stream.rest, {})});
}

void WorkerProcess::drain(Stream& stream) {
  char bytes[16384];
  // At most the content of a full pipe: a worker that writes without end must not block this loop.
  for (int piece = 0; piece < 64 && stream.descriptor >= 0; ++piece) {
    const ssize_t got = ::read(stream.descriptor, bytes, sizeof bytes);
    if (got > 0) {
      take_lines(stream, {bytes, static_cast<std::size_t>(got)});
    } else if (got == 0) {
      ::close(std::exchange(stream.descriptor, -1));
    } else if (errno != EINTR) {
      return;
    }
  }
}

void WorkerProcess::finish() {
  // Processes that the worker started may hold its pipes and the device: kill them, and do not wait for the
  // end of the pipes. The group's number stays in use as long as its dead leader is not reaped.
  for (Stream& stream : streams_) drain(stream);
  ::kill(-pid_, SIGKILL);
  end_ = watch_->reap().value_or(WorkerEnd{});
  for (Stream& stream : streams_) {
    // Half an observation is useless, but half a message may help.
    if (stream.kind != WorkerEvent::Kind::observation && !stream.rest.empty()) {
      events_.push_back({stream.kind, std::exchange(stream.rest, {})});
    }
  }
  ended_ = true;
}

bool WorkerProcess::was_interrupted_with_us(int interrupt) const {
  if (interrupt < 0 || !end_.signal || !ends_process(*end_.signal)) return false;
  pollfd watched{interrupt, POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(kSignalOfAJob.count())) == 1;
}

bool WorkerProcess::has_observation() const {
  return std::any_of(events_.begin(), events_.end(),
                     [](const WorkerEvent& event) { return event.kind == WorkerEvent::Kind::observation; });
}

WorkerEvent WorkerProcess::next(std::optional<Clock::time_point> until, int interrupt) {
  while (events_.empty()) {
    if (ended_) {
      using enum WorkerEvent::Kind;
      return {was_interrupted_with_us(interrupt) ? interrupted : ended, {}};
    }
    const bool late = until && Clock::now() >= *until;
    std::array<pollfd, 5> watched{};
    for (std::size_t i = 0; i < 3; ++i) watched[i] = {streams_[i].descriptor, POLLIN, 0};
    watched[3] = {watch_->descriptor(), POLLIN, 0};
    watched[4] = {interrupt, POLLIN, 0};
    const int limit = late ? 0 : watch_->poll_limit(milliseconds_until(until));
    const int ready = ::poll(watched.data(), watched.size(), limit);
    if (ready < 0 && errno != EINTR) fail("poll");
    const bool interrupted = ready > 0 && watched[4].revents != 0;
    if ((watched[3].revents != 0 || watch_->descriptor() < 0) && watch_->has_ended()) {
      finish();
    } else {
      for (Stream& stream : streams_) drain(stream);
    }
    // Observations from before the deadline count even if they are read after it. If a worker keeps writing,
    // only the content of its pipes counts. Messages cause no delay.
    const bool read_before = std::exchange(overdue_, late || interrupted);
    if (has_observation() && !(overdue_ && read_before)) break;
    if (interrupted || (late && !ended_)) {
      overdue_ = false;
      return {interrupted ? WorkerEvent::Kind::interrupted : WorkerEvent::Kind::late, {}};
    }
  }
  WorkerEvent event = std::move(events_.front());
  events_.pop_front();
  if (event.kind == WorkerEvent::Kind::error) event.text = without_terminal_codes(event.text);
  return event;
}

const std::deque<WorkerEvent>& WorkerProcess::read_output() {
  for (Stream& stream : streams_) {
    if (stream.kind != WorkerEvent::Kind::observation) drain(stream);
  }
  return events_;
}

bool WorkerProcess::kill(std::chrono::milliseconds limit) {
  // A process that was given up may have been reaped since, and its number may belong to another process.
  if (ended_ || given_up_) return ended_;
  ::kill(-pid_, SIGKILL);
  if (watch_->wait_until(Clock::now() + limit)) {
    finish();
  } else {
    given_up_ = true;
    give_up_child(pid_);
  }
  return ended_;
}

Answer ask(const WorkerCommand& command, std::chrono::milliseconds limit, int interrupt) {
  WorkerProcess process(command);
  Answer answer;
  const auto until = WorkerProcess::Clock::now() + limit;
  for (;;) {
    const WorkerEvent event = process.next(until, interrupt);
    switch (event.kind) {
      case WorkerEvent::Kind::output:
        answer.output += event.text + '\n';
        if (answer.output.size() > kMaxAnswerBytes)
          throw NoAnswer(command.program.string() + " writes without end and was killed", answer.output);
        break;
      case WorkerEvent::Kind::error:
        answer.errors += event.text + '\n';
        if (answer.errors.size() > kMaxErrorBytes) answer.errors.erase(0, answer.errors.size() / 2);
        break;
      case WorkerEvent::Kind::observation:
        break;
      case WorkerEvent::Kind::ended:
        answer.end = process.end();
        return answer;
      case WorkerEvent::Kind::late:
        throw NoAnswer(no_answer_text(command, limit, answer.errors), answer.output);
      case WorkerEvent::Kind::interrupted:
        throw Interrupted("interrupted");
    }
  }
}

}  // namespace peakmark
