#include "analyse/explain/derive/case_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "record/ledger/sequence_steps.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxNames = 3;

void add_other_peaks(RecordedCases& cases) {
  std::vector<std::size_t> off;
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    const auto recorded = cases.observations[shape]->requested_peak_bytes;
    if (recorded && *recorded != cases.peaks[shape]) off.push_back(shape);
  }
  if (off.empty()) return;
  const Observation& first = *cases.observations[off.front()];
  cases.notes.push_back(fmt::format(
      "the allocation sequence of {} has another peak than the run file; the first: {}: {} bytes in the "
      "sequence, {} in the run file",
      quantity(off.size(), "case"), first.case_name, cases.peaks[off.front()], *first.requested_peak_bytes));
}

void add_not_repeated(RecordedCases& cases) {
  std::size_t not_repeated = 0;
  std::set<std::string> names;
  const auto sites = short_call_sites(cases.sequences());
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    bool is_repeated = true;
    for (const SequencedAllocation& one : cases.sequence(shape)) {
      if (one.is_repeated) continue;
      is_repeated = false;
      const std::string& site = sites.at(one.where);
      names.insert(!one.name.empty() ? one.name : site.empty() ? "unnamed ones" : site);
    }
    if (!is_repeated) ++not_repeated;
  }
  if (not_repeated > 0)
    cases.notes.push_back(fmt::format(
        "{} made other allocations in the second pass ({}): formulas describe the first; set `sync = "
        "true` for the program, and give it a fixed seed",
        quantity(not_repeated, "case"), first_names({names.begin(), names.end()}, kMaxNames)));
}

// Returns whether peaks are the same in both passes, and what to do if not.
std::string repetition(const RecordedCases& cases) {
  std::size_t known = 0;
  std::size_t different = 0;
  for (const Observation* const one : cases.observations) {
    if (!one->second_pass_peak_bytes || !one->requested_peak_bytes) continue;
    ++known;
    if (*one->second_pass_peak_bytes != *one->requested_peak_bytes) ++different;
  }
  if (known == 0) return "record a shape again to see whether its peak repeats";
  if (different == 0) return "the second pass of each case had the same peak";
  return fmt::format(
      "the second pass of {} of {} had another peak; let the processes run one after the other, or record "
      "each alone",
      different, quantity(known, "case"));
}

// Adds a note on memory of other processes that is live at a peak.
void add_other_processes(RecordedCases& cases) {
  std::set<std::string> processes;
  Size most = 0;
  std::size_t largest = 0;
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    const AllocationSequence& sequence = cases.sequence(shape);
    Size bytes = 0;
    for (const std::size_t i : live_at_peak(sequence)) {
      if (sequence[i].process.empty()) continue;
      processes.insert(sequence[i].process);
      bytes = checked_add(bytes, sequence[i].bytes);
    }
    if (bytes <= most) continue;
    most = bytes;
    largest = shape;
  }
  if (processes.empty()) return;
  cases.notes.push_back(fmt::format(
      "at the peak of {}, {} of {} belong to {} that the program started: {}; an estimator for the "
      "program alone is too low by that amount. Processes that run at the same time are merged by time: {}",
      cases.observations[largest]->case_name, format_size(most), format_size(cases.peaks[largest]),
      processes.size() == 1 ? "another process" : "other processes",
      first_names({processes.begin(), processes.end()}, kMaxNames), repetition(cases)));
}

}  // namespace

void add_case_notes(RecordedCases& cases) {
  add_other_peaks(cases);
  add_not_repeated(cases);
  add_other_processes(cases);
}

}  // namespace peakmark
