#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/private_text.hpp"
#include "base/text_file.hpp"
#include "runfile/redact.hpp"
#include "runfile/run_file.hpp"

namespace peakmark {

/// A run being measured. Beside the run file stands `RUN.partial`: its context and each observation as it
/// came, a line each, so that nothing is lost when we are killed. One process at a time holds it. At the end
/// the run file is written and the partial one goes.
class RunJournal {
 public:
  /// UsageError when another process measures into this run file, IoError when it cannot be written: here,
  /// before anything is measured.
  explicit RunJournal(std::filesystem::path run_file);
  /// Leaves the partial run for --resume, be it this run's or an earlier one's, unless nothing was measured.
  ~RunJournal();
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;

  /// The run file of an earlier run gets the name RUN.previous until finish() writes the new one: if this run
  /// fails, nobody takes the earlier one for its result. Not for a run that resumes.
  void set_earlier_run_aside();

  /// Begins a new run. A partial one that was there, with a case that was measured, is kept under the name
  /// returned, `RUN.partial.1` or the next that is free, once a case of this run is measured: a run that
  /// comes to nothing leaves it as it was. Empty where there was none.
  std::filesystem::path start(RunContext context);

  /// Goes on with the run that is there, in part or whole, if it is the same: suite and cases, device,
  /// driver, build, passes. UsageError, naming the difference, when it is another. False when there is none.
  bool resume(const RunContext& context);

  /// A case was measured; in a run of rounds, in one more of them.
  void add(const Observation& observation);
  /// An observation that needs no device. Of these alone no partial run is kept.
  void note(const Observation& observation);
  /// Context that has changed since: warnings, reference times.
  void change(const std::function<void(RunContext&)>& edit);

  [[nodiscard]] const Run& run() const { return run_; }
  /// A case of this run is measured, and stands in the partial run.
  [[nodiscard]] bool has_measured() const { return measured_; }
  /// Returns what was measured of a case. Null where nothing was.
  [[nodiscard]] const Observation* find(const std::string& case_name) const;
  /// A case that was measured before, of which more is known now.
  void change(const Observation& observation);
  /// Those of which an external estimator was not asked yet.
  [[nodiscard]] std::vector<Observation> unasked() const;
  /// Planned, but without an observation.
  [[nodiscard]] std::vector<PlannedCase> missing() const;
  /// Nothing is missing, every estimator is asked, and every round is through.
  [[nodiscard]] bool is_complete() const;

  /// Writes the run file, complete or not, and removes the partial one. Observations in the order planned.
  void finish();

 private:
  void read_partial();
  void check_observations() const;
  void write_all();
  void append_context();
  void keep(const Observation& observation);
  void read_one(const Observation& observation);
  void replace_earlier_by(const Observation& observation);
  /// With messages as they may be published.
  [[nodiscard]] Observation published(Observation observation) const;

  std::filesystem::path run_file_;
  LineFile partial_;
  PrivateTexts private_texts_;
  bool started_ = false;
  bool earlier_stays_ = false;  ///< until a case is measured
  std::filesystem::path kept_;  ///< where the earlier one goes then
  bool measured_ = false;
  bool is_set_aside_ = false;
  Run run_;
  std::unordered_map<std::string, std::size_t> places_;  ///< of the observations, by case
};

/// UsageError, naming what differs, when `context` is not one to go on with as `recorded`.
void check_same_run(const RunContext& recorded, const RunContext& context, const std::filesystem::path& file);

}  // namespace peakmark
