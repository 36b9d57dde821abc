#include "measure/supervise/command_jobs.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <functional>
#include <future>

#include "base/error.hpp"
#include "base/program.hpp"
#include "record/subprocess/processes.hpp"
#include "record/subprocess/signals.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {
namespace {

// Each run of a job has a separate limit.
constexpr std::chrono::hours kJobLimit{24 * 7};

std::string run_job(const std::vector<std::string>& words, std::size_t job, int interrupt) {
  const Answer answer = ask({own_program(), words, {}, ""}, kJobLimit, interrupt);
  const int code = answer.end.exit_code.value_or(-1);
  const bool has_report = code == static_cast<int>(ExitCode::clean) ||
                          code == static_cast<int>(ExitCode::verdict) ||
                          code == static_cast<int>(ExitCode::nothing);
  if (has_report && !answer.output.empty()) return answer.output;
  const std::string message = fmt::format("job {} of --jobs: {}", job, answer.how_it_ended());
  throw_error_of_exit_code(code, message);
  throw MeasurementError(message);
}

}  // namespace

std::vector<std::string> run_command_jobs(const std::vector<std::vector<std::string>>& commands) {
  const SignalWatch signals;
  const OrphanGuard orphans;  // for programs of a job that was killed
  std::vector<std::future<std::string>> jobs;
  jobs.reserve(commands.size());
  for (const std::vector<std::string>& words : commands)
    jobs.push_back(
        std::async(std::launch::async, run_job, std::cref(words), jobs.size() + 1, signals.descriptor()));
  std::vector<std::string> outputs;
  std::exception_ptr failure;
  for (std::future<std::string>& job : jobs) {
    try {
      outputs.push_back(job.get());
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return outputs;
}

}  // namespace peakmark
