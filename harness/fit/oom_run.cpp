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
#include "sweep/nearest_word.hpp"

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
  if (recorder.device().backend != Backend::opencl)
    throw UsageError(
        fmt::format("{} cannot refuse an allocation: only the OpenCL recorder can; write --backend opencl",
                    to_string(recorder.device().backend)));
  const Description& description = recorder.vocabulary().description;
  const VariantDescription* const variant = description.variant(request.variant);
  if (variant == nullptr)
    throw UsageError(fmt::format("no variant '{}'{}", request.variant,
                                 suggest_word(request.variant, description.variant_names())));
  const Parameters shape = parse_parameters(*variant, request.values);

  OomReport report;
  report.program =
      request.command.empty() ? request.variant : fmt::format("{}", fmt::join(request.command, " "));
  report.device = recorder.device().name;
  report.is_result_compared = request.compared_output.has_value();
  ComparedOutput output(request.compared_output);
  const auto record = [&](Size refused) {
    recorder.set_refused_allocation(refused);
    return recorder.record(variant->name, {shape}).front();
  };
  const Observation reference = record(0);
  check_reference(reference);
  output.take_reference();
  const AllocationSequence& allocations = *reference.allocation_sequence;
  report.allocations = static_cast<Size>(allocations.size());
  const auto sites = short_call_sites({allocations});
  const std::vector<Size> chosen = choose_refusals(allocations, request.choice);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    progress(i, chosen.size());
    output.forget();
    Refusal refusal = judge_refusal(reference, record(chosen[i]), output.is_same());
    const SequencedAllocation& allocation = allocations[static_cast<std::size_t>(chosen[i]) - 1];
    refusal.index = chosen[i];
    refusal.bytes = allocation.bytes;
    refusal.name = allocation.name;
    const auto site = sites.find(allocation.where);
    refusal.where = site == sites.end() ? allocation.where : site->second;
    report.refusals.push_back(std::move(refusal));
  }
  progress(chosen.size(), chosen.size());
  return report;
}

}  // namespace peakmark
