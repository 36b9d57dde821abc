#include "fit/oom_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "fit/program_suite.hpp"
#include "supervise/estimate_question.hpp"

namespace peakmark {
namespace {

using Clock = std::chrono::steady_clock;

/// A file that the program writes, before and after an allocation is refused.
class ComparedOutput {
 public:
  explicit ComparedOutput(std::optional<std::filesystem::path> path) : path_(std::move(path)) {}

  /// Takes what the reference run wrote. Throws UsageError if it wrote nothing.
  void take_reference() {
    if (!path_) return;
    const auto text = read();
    if (!text)
      throw UsageError(fmt::format("--compare-output: the program does not write {}", path_->string()));
    reference_ = *text;
  }
  /// Removes the file, so that a run that does not write it is not taken for one that does.
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

/// Returns the shapes that one run measures: the case and, of a variant, another one in the same process
/// after it. A device that is unusable after a refusal shows there.
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

}  // namespace

OomReport refuse_allocations(OomRequest request,
                             const std::function<void(std::size_t, std::size_t)>& progress) {
  const ScratchFolder folder;
  if (!request.command.empty()) {
    const std::filesystem::path suite = folder.path() / "oom.toml";
    request.variant = write_program_suite(request.command, {}, suite);
    request.sweep.selection.suites = {suite};
  }
  ShapeRecorder recorder(request.sweep);
  if (recorder.device().backend == Backend::cuda)
    throw UsageError(
        "allocations are refused on OpenCL and `dry` only: CUPTI cannot refuse a call; write --backend "
        "opencl");
  recorder.set_verification(true);
  const VariantDescription& variant = recorder.vocabulary().description.known_variant(request.variant);
  const auto shapes = measured_shapes(recorder, variant, parse_parameters(variant, request.values));
  const auto record = [&](Size refused) {
    recorder.set_refused_allocation(refused);
    return recorder.record(variant.name, shapes);
  };

  const std::vector<Observation> reference = record(0);
  for (const Observation& one : reference) check_reference(one);
  ComparedOutput output(request.compared_output);
  output.take_reference();
  const AllocationSequence& allocations = *reference.front().allocation_sequence;
  const auto sites = short_call_sites({allocations});
  OomReport report;
  report.program =
      request.command.empty() ? request.variant : fmt::format("{}", fmt::join(request.command, " "));
  report.device = recorder.device().name;
  report.allocations = static_cast<Size>(allocations.size());
  report.is_program = recorder.vocabulary().program(variant.name) != nullptr;
  report.is_result_compared = request.compared_output.has_value();
  const std::vector<Size> chosen = choose_refusals(allocations, request.choice);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    progress(i, chosen.size());
    output.forget();
    const std::vector<Observation> refused = record(chosen[i]);
    Refusal refusal = judge_refusal(reference.front(), refused.front(), output.is_same());
    if (refused.size() > 1) add_next_case(refusal, reference.back(), refused.back());
    const SequencedAllocation& allocation = allocations[static_cast<std::size_t>(chosen[i]) - 1];
    refusal.index = chosen[i];
    refusal.bytes = allocation.bytes;
    refusal.name = allocation.name;
    refusal.where = sites.at(allocation.where);
    report.refusals.push_back(std::move(refusal));
  }
  return report;
}

}  // namespace peakmark
