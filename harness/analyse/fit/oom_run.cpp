#include "analyse/fit/oom_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "analyse/fit/fit_request.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "measure/estimate/worker_estimates.hpp"
#include "measure/supervise/command_jobs.hpp"

namespace peakmark {
namespace {

// In words of a request with jobs, this placeholder is replaced by the number of the job, from 1: jobs must
// not write the same file.
constexpr const char* kJobPlaceholder = "{job}";

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

// Throws UsageError if the jobs would write the same compared file.
void check_jobs(const OomRequest& request) {
  if (request.jobs == 1 || !request.compared_output) return;
  const std::string path = request.compared_output->string();
  if (path.find(kJobPlaceholder) != std::string::npos) return;
  throw UsageError(
      fmt::format("--compare-output: {} jobs would write one file, {}; write {} into its name, and into the "
                  "program's words",
                  request.jobs, path, kJobPlaceholder));
}

// Returns the request of one job, with its placeholders replaced.
OomRequest with_job_number(OomRequest request, int job) {
  for (std::string& word : request.command) word = with_number(word, job);
  for (std::string& value : request.values) value = with_number(value, job);
  if (request.compared_output) request.compared_output = with_number(request.compared_output->string(), job);
  return request;
}

// Refuses the chosen allocations in `request.jobs` child processes, `peakmark oom --allocations …`, each of
// which first runs the program without a refusal. Adds the refusals in the order of the allocations. Throws
// Interrupted after a signal, and the error of the first job that failed; before that, it ends the children
// and the processes that they started.
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

using Clock = std::chrono::steady_clock;

/// An output file of the program, before and after an allocation is refused.
class ComparedOutput {
 public:
  explicit ComparedOutput(std::optional<std::filesystem::path> path) : path_(std::move(path)) {}

  /// Reads the output of the reference run. Throws UsageError if there is none.
  void take_reference() {
    if (!path_) return;
    const auto text = read();
    if (!text)
      throw UsageError(fmt::format("--compare-output: the program does not write {}", path_->string()));
    reference_ = *text;
  }
  /// Removes the file, so that an old one is not mistaken for the output of a run that writes none.
  void forget() const {
    std::error_code ignored;
    if (path_) std::filesystem::remove(*path_, ignored);
  }
  [[nodiscard]] std::optional<bool> is_same() const {
    return path_ ? std::optional(read() == reference_) : std::nullopt;
  }

 private:
  [[nodiscard]] std::optional<std::string> read() const {
    return std::filesystem::is_regular_file(*path_) ? std::optional(read_text_file(*path_)) : std::nullopt;
  }

  std::optional<std::filesystem::path> path_;
  std::string reference_;
};

/// Returns the shapes that one run measures: the case and, for a variant, another one after it in the same
/// process. If the device is unusable after a refusal, that case fails.
std::vector<Parameters> measured_shapes(const ShapeRecorder& recorder, const VariantDescription& variant,
                                        const Parameters& shape) {
  std::vector<Parameters> shapes{shape};
  if (recorder.vocabulary().program(variant.name) == nullptr && !variant.slice_axis.empty()) {
    shapes.push_back(shape);
    shapes.back().set(variant.slice_axis, shape.integer(variant.slice_axis) + 1);
  }
  return shapes;
}

void check_reference(const Observation& reference) {
  if (reference.outcome != Outcome::ok)
    throw UsageError(fmt::format("without a refusal, the case ends with {}: {}", to_string(reference.outcome),
                                 reference.message));
  if (!reference.allocation_sequence)
    throw UsageError(
        fmt::format("the case makes more than {} allocations; fewer are needed", kMaxSequencedAllocations));
  if (reference.allocation_sequence->empty())
    throw UsageError("the case allocates no device memory; there is nothing to refuse");
}

/// Refuses allocations of one program or variant, each in a separate run.
class RefusalRunner {
 public:
  /// Runs it without a refusal.
  RefusalRunner(const OomRequest& request, const ScratchFolder& folder)
      : recorder_(options_of(request, folder)), output_(request.compared_output), once_(request.once) {
    if (request.sweep.refuses_at_use && recorder_.device().backend != Backend::opencl)
      throw UsageError("--refuse-at-use: only the recorder of OpenCL refuses at the first use");
    recorder_.set_verification(true);
    const std::string& name = request.command.empty() ? request.variant : program_variant_;
    variant_ = &recorder_.vocabulary().description.known_variant(name);
    if (once_ && !is_program())
      throw UsageError("--once: a variant is always refused one allocation only; leave --once out");
    shapes_ = measured_shapes(recorder_, *variant_, parse_parameters(*variant_, request.values));
    reference_ = record(0);
    for (const Observation& one : reference_) check_reference(one);
    output_.take_reference();
    sites_ = short_call_sites({allocations()}, request.frames);
  }

  [[nodiscard]] const ShapeRecorder& recorder() const { return recorder_; }
  [[nodiscard]] bool is_program() const { return recorder_.vocabulary().program(variant_->name) != nullptr; }
  [[nodiscard]] const AllocationSequence& allocations() const {
    return *reference_.front().allocation_sequence;
  }

  [[nodiscard]] const std::string& reference_note() const { return reference_.front().message; }

  Refusal refuse(Size index) {
    output_.forget();
    const std::vector<Observation> refused = record(index);
    Refusal refusal = judge_refusal(index, reference_.front(), refused.front(), output_.is_same());
    if (refused.size() > 1) add_next_case(refusal, reference_.back(), refused.back());
    const bool can_disturb =
        refusal.outcome == RefusalOutcome::crashed || refusal.outcome == RefusalOutcome::hung;
    if (can_disturb && is_program()) {
      Observation next = record(0).front();
      next.requested_peak_bytes =
          reference_.front().requested_peak_bytes;  // the peak may differ from run to run
      add_next_case(refusal, reference_.front(), next);
    }
    const SequencedAllocation& allocation = allocations()[static_cast<std::size_t>(index) - 1];
    refusal.bytes = allocation.bytes;
    refusal.name = allocation.name;
    refusal.where = sites_.at(allocation.where);
    return refusal;
  }

 private:
  SweepOptions options_of(const OomRequest& request, const ScratchFolder& folder) {
    SweepOptions options = request.sweep;
    options.asks_estimators = false;
    if (request.command.empty()) return options;
    const std::filesystem::path suite = folder.path() / "oom.toml";
    program_variant_ = write_program_suite(request.command, {}, suite);
    options.selection.suites = {suite};
    return options;
  }
  std::vector<Observation> record(Size refused) {
    // In a variant's process, the next case is measured without a refusal.
    recorder_.set_refused_allocation(refused, once_ || !is_program());
    return recorder_.record(variant_->name, shapes_);
  }

  std::string program_variant_;
  ShapeRecorder recorder_;
  ComparedOutput output_;
  bool once_;
  const VariantDescription* variant_ = nullptr;
  std::vector<Parameters> shapes_;
  std::vector<Observation> reference_;
  std::map<std::string, std::string> sites_;
};

/// Refuses the allocations one after the other, until the program is unusable.
void refuse_in_turn(RefusalRunner& runner, const std::vector<Size>& chosen, OomReport& report,
                    const std::function<void(const std::string&)>& say) {
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    say(fmt::format("refusing allocation {} of {}", i + 1, chosen.size()));
    report.refusals.push_back(runner.refuse(chosen[i]));
    if (report.refusals.back().outcome != RefusalOutcome::unusable || !runner.is_program()) continue;
    if (const std::size_t left = chosen.size() - i - 1; left > 0)
      report.notes.push_back(
          fmt::format("{} not refused, since the program fails without a refusal after allocation {} was",
                      quantity(left, "allocation was", "allocations were"), chosen[i]));
    return;
  }
}

}  // namespace

OomReport refuse_allocations(OomRequest request, const std::function<void(const std::string&)>& say) {
  check_jobs(request);
  const OomRequest own = with_job_number(request, 1);
  const ScratchFolder folder;
  RefusalRunner runner(own, folder);
  OomReport report;
  report.program =
      request.command.empty() ? request.variant : fmt::format("{}", fmt::join(request.command, " "));
  report.device = runner.recorder().device().name;
  report.allocations = static_cast<Size>(runner.allocations().size());
  report.is_program = runner.is_program();
  report.is_result_compared = request.compared_output.has_value();
  // For example, that two memory passes differ.
  if (const std::string& note = runner.reference_note(); !note.empty())
    report.notes.push_back("without a refusal: " + note);
  const std::vector<Size> chosen = choose_refusals(runner.allocations(), request.choice);
  if (request.jobs == 1 || chosen.size() < 2) {
    refuse_in_turn(runner, chosen, report, say);
    return report;
  }
  say(fmt::format("refusing {} in {} jobs", quantity(chosen.size(), "allocation"), request.jobs));
  refuse_in_jobs(request, chosen, report);
  for (Refusal& one : report.refusals) {
    if (one.outcome != RefusalOutcome::hung) continue;
    say(fmt::format("refusing allocation {} again, alone: it did not end in time", one.index));
    one = runner.refuse(one.index);
  }
  return report;
}

}  // namespace peakmark
