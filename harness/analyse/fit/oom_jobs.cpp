#include "analyse/fit/oom_jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <future>
#include <string>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "record/subprocess/processes.hpp"
#include "record/subprocess/signals.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {
namespace {

// Each run of a job has a separate limit.
constexpr std::chrono::hours kJobLimit{24 * 7};

std::string with_number(std::string text, int job) {
  const std::string placeholder = kJobPlaceholder;
  for (std::size_t at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder, at))
    text.replace(at, placeholder.size(), std::to_string(job));
  return text;
}

/// Returns the words of the `peakmark` command that refuses `indices`.
std::vector<std::string> job_words(const OomRequest& request, const std::vector<Size>& indices) {
  std::vector<std::string> words{"oom", "--json", "--allocations",
                                 fmt::format("{}", fmt::join(indices, ","))};
  const auto add = [&](const char* option, const std::optional<std::string>& value) {
    if (value) words.insert(words.end(), {option, *value});
  };
  const SweepOptions& sweep = request.sweep;
  add("--backend", sweep.selection.backend);
  add("--device", sweep.selection.device);
  add("--worker", sweep.worker);
  if (request.once) words.emplace_back("--once");
  if (request.frames > 0) words.insert(words.end(), {"--frames", std::to_string(request.frames)});
  if (sweep.refuses_at_use) words.emplace_back("--refuse-at-use");
  if (request.compared_output) add("--compare-output", request.compared_output->string());
  if (sweep.case_limit != CaseLimit())
    add("--timeout", fmt::format("{}", std::chrono::duration<double>(sweep.case_limit.base).count()));
  if (!request.command.empty()) {
    words.emplace_back("--");
    words.insert(words.end(), request.command.begin(), request.command.end());
    return words;
  }
  for (const std::filesystem::path& suite : sweep.selection.suites) words.push_back(suite.string());
  words.push_back(request.variant);
  words.insert(words.end(), request.values.begin(), request.values.end());
  return words;
}

OomReport run_job(const WorkerCommand& command, int job, int interrupt) {
  const Answer answer = ask(command, kJobLimit, interrupt);
  const int code = answer.end.exit_code.value_or(-1);
  const bool has_report = code == static_cast<int>(ExitCode::clean) ||
                          code == static_cast<int>(ExitCode::verdict) ||
                          code == static_cast<int>(ExitCode::nothing);
  if (has_report && !answer.output.empty()) return parse_oom_json(answer.output);
  const std::string message = fmt::format("job {} of --jobs: {}", job, answer.how_it_ended());
  throw_error_of_exit_code(code, message);
  throw MeasurementError(message);
}

}  // namespace

void check_jobs(const OomRequest& request) {
  if (request.jobs == 1 || !request.compared_output) return;
  const std::string path = request.compared_output->string();
  if (path.find(kJobPlaceholder) != std::string::npos) return;
  throw UsageError(
      fmt::format("--compare-output: {} jobs would write one file, {}; write {} into its name, and into the "
                  "program's words",
                  request.jobs, path, kJobPlaceholder));
}

OomRequest with_job_number(OomRequest request, int job) {
  for (std::string& word : request.command) word = with_number(word, job);
  for (std::string& value : request.values) value = with_number(value, job);
  if (request.compared_output) request.compared_output = with_number(request.compared_output->string(), job);
  return request;
}

void refuse_in_jobs(const OomRequest& request, const std::vector<Size>& chosen, OomReport& report) {
  const auto jobs = std::min(static_cast<std::size_t>(request.jobs), chosen.size());
  const SignalWatch signals;
  const OrphanGuard orphans;  // for programs of a job that was killed
  std::vector<std::future<OomReport>> answers;
  answers.reserve(jobs);
  for (std::size_t job = 0; job < jobs; ++job) {
    std::vector<Size> own;
    own.reserve(chosen.size() / jobs + 1);
    for (std::size_t i = job; i < chosen.size(); i += jobs) own.push_back(chosen[i]);
    const int number = static_cast<int>(job) + 1;
    const WorkerCommand command{own_program(), job_words(with_job_number(request, number), own), {}, ""};
    answers.push_back(std::async(std::launch::async, run_job, command, number, signals.descriptor()));
  }
  std::exception_ptr failure;
  for (std::future<OomReport>& answer : answers) {
    try {
      const OomReport part = answer.get();
      report.refusals.insert(report.refusals.end(), part.refusals.begin(), part.refusals.end());
      for (const std::string& note : part.notes) {
        if (std::ranges::find(report.notes, note) == report.notes.end()) report.notes.push_back(note);
      }
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  std::ranges::sort(report.refusals, {}, &Refusal::index);
}

}  // namespace peakmark
