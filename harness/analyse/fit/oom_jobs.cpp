#include "analyse/fit/oom_jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "base/error.hpp"
#include "measure/supervise/command_jobs.hpp"

namespace peakmark {
namespace {

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
  std::vector<std::vector<std::string>> commands;
  commands.reserve(jobs);
  for (std::size_t job = 0; job < jobs; ++job) {
    std::vector<Size> own;
    own.reserve(chosen.size() / jobs + 1);
    for (std::size_t i = job; i < chosen.size(); i += jobs) own.push_back(chosen[i]);
    commands.push_back(job_words(with_job_number(request, static_cast<int>(job) + 1), own));
  }
  for (const std::string& output : run_command_jobs(commands)) {
    const OomReport part = parse_oom_json(output);
    report.refusals.insert(report.refusals.end(), part.refusals.begin(), part.refusals.end());
    for (const std::string& note : part.notes) {
      if (std::ranges::find(report.notes, note) == report.notes.end()) report.notes.push_back(note);
    }
  }
  std::ranges::sort(report.refusals, {}, &Refusal::index);
}

}  // namespace peakmark
