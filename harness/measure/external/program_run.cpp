#include "measure/external/program_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/program.hpp"
#include "record/subprocess/processes.hpp"
#include "record/subprocess/signals.hpp"
#include "record/subprocess/spawn.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxLines = 3;
constexpr std::size_t kMaxLineBytes = 400;

[[noreturn]] void fail(const char* what) {
  throw io_error("", what, errno);
}

/// Keeps the last lines from a pipe.
class PipedLines {
 public:
  explicit PipedLines(int descriptor) : descriptor_(descriptor) { ::fcntl(descriptor, F_SETFL, O_NONBLOCK); }

  [[nodiscard]] int descriptor() const { return descriptor_; }

  void drain() {
    std::array<char, 16384> bytes{};
    // At most the content of a full pipe: a program that writes without end must not block this loop.
    for (int piece = 0; piece < 64 && descriptor_ >= 0; ++piece) {
      const ssize_t got = ::read(descriptor_, bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return;
      if (got == 0) {
        descriptor_ = -1;
        return;
      }
      take({bytes.data(), static_cast<std::size_t>(got)});
    }
  }

  [[nodiscard]] std::vector<std::string> lines() {
    end_line();
    return {lines_.all().begin(), lines_.all().end()};
  }

 private:
  void take(std::string_view bytes) {
    for (const char byte : bytes) {
      if (byte == '\n' || byte == '\r') {
        end_line();
      } else if (line_.size() < kMaxLineBytes) {
        line_ += byte;
      }
    }
  }

  void end_line() {
    const std::size_t first = line_.find_first_not_of(" \t");
    if (first != std::string::npos) lines_.add(line_.substr(first));
    line_.clear();
  }

  int descriptor_;
  std::string line_;
  LastLines lines_{kMaxLines};
};

pid_t guard = -1;  // process of guard_group()

}  // namespace

std::string ProgramEnd::last_words() const {
  return fmt::format("{}", fmt::join(last_lines, " / "));
}

void guard_group(const std::filesystem::path& profiles) {
  Pipe pipe;
  guard = ::fork();
  if (guard < 0) fail("fork");
  if (guard == 0) {
    // The pipe is closed when the parent ends, because programs do not inherit it.
    if (::dup2(pipe.read_end.get(), 0) == 0) ::close_range(1, ~0U, 0);
    char byte = 0;
    while (::read(0, &byte, 1) < 0 && errno == EINTR) {
    }
    // Processes that have left the group still have the folder in their environment.
    end_processes_with("PEAKMARK_PROFILE", profiles.string() + "/");
    ::kill(0, SIGKILL);
  }
  [[maybe_unused]] const int left_open = pipe.write_end.release();  // open as long as this process lives
}

ProgramEnd run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  const std::string failure = program_failure(environment, command.front());
  if (!failure.empty()) throw EnvironmentError(command.front() + ": " + failure);
  WorkerCommand start{find_program(environment, command.front()).value(),
                      {command.begin() + 1, command.end()},
                      environment,
                      ""};
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Pipe output;
  Pipe errors;
  const auto begin = std::chrono::steady_clock::now();
  const pid_t program =
      spawn(start, {nothing.get(), output.write_end.get(), errors.write_end.get(), -1}, {.own_group = false});
  output.write_end.close();
  errors.write_end.close();
  ChildWatch watch(program);
  PipedLines said(output.read_end.get());
  PipedLines complained(errors.read_end.get());
  for (bool running = true; running;) {
    std::array<pollfd, 3> watched{{{said.descriptor(), POLLIN, 0},
                                   {complained.descriptor(), POLLIN, 0},
                                   {watch.descriptor(), POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), watch.poll_limit(-1)) < 0 && errno != EINTR) fail("poll");
    running = (watched[2].revents == 0 && watch.descriptor() >= 0) || !watch.has_ended();
    said.drain();
    complained.drain();
  }
  const auto end = std::chrono::steady_clock::now();
  ProgramEnd ended;
  ended.end = watch.reap().value_or(WorkerEnd{});
  // If the whole job is being ended, this process ends here, and its supervisor knows the reason.
  if (ended.end.signal && ends_process(*ended.end.signal))
    ::poll(nullptr, 0, static_cast<int>(kSignalOfAJob.count()));
  ended.process = program;
  ended.wall_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
  for (const pid_t child : end_orphans(guard)) {
    ended.left_behind += (ended.left_behind.empty() ? "" : "; ") + given_up_text(child);
  }
  ended.last_lines = complained.lines();
  if (ended.last_lines.empty()) ended.last_lines = said.lines();
  return ended;
}

}  // namespace peakmark
