#include "analyse/fit/oom_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <map>

#include "analyse/fit/oom_jobs.hpp"
#include "analyse/fit/program_suite.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "measure/estimate/worker_estimates.hpp"

namespace peakmark {
namespace {

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
