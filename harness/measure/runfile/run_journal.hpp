#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/private_text.hpp"
#include "base/text_file.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {

/// A run that is being measured. Its context and each observation are appended to `RUN.partial`, next to the
/// run file, one per line, so that nothing is lost if this process is killed. Only one process at a time can
/// open it. At the end the run file is written and the partial one is removed.
class RunJournal {
 public:
  /// Throws UsageError if another process measures into this run file, and IoError if it cannot be written.
  /// Both happen before anything is measured.
  explicit RunJournal(std::filesystem::path run_file);
  /// Keeps a partial run, of this or an earlier run, for --resume, unless nothing was measured.
  ~RunJournal();
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;

  /// Renames the run file of an earlier run to RUN.previous until finish() writes the new one. If this run
  /// fails, the earlier one is not mistaken for its result. Not for a run that resumes.
  void set_earlier_run_aside();

  /// Starts a new run. An earlier partial run with a measured case is kept: it is renamed once a case of this
  /// run is measured, so that a run that measures nothing leaves it unchanged. Returns its new name,
  /// `RUN.partial.1` or the next that is free; empty if there was none.
  std::filesystem::path start(RunContext context);

  /// Continues the existing run, partial or complete. Returns false if there is none. Throws UsageError,
  /// naming the difference, if suite, cases, device, driver, build or passes differ.
  bool resume(const RunContext& context);

  /// Adds the observation of a case; in a run with rounds, that of one more round.
  void add(const Observation& observation);
  /// Adds an observation that needed no device. A partial run with only these is not kept.
  void note(const Observation& observation);
  /// Changes the context: warnings, reference times.
  void change(const std::function<void(RunContext&)>& edit);

  [[nodiscard]] const Run& run() const { return run_; }
  /// Returns true once a case of this run is measured.
  [[nodiscard]] bool has_measured() const { return measured_; }
  /// Returns the observation of a case; null if there is none.
  [[nodiscard]] const Observation* find(const std::string& case_name) const;
  /// Replaces the observation of a case that was measured before.
  void change(const Observation& observation);
  /// Returns the observations about which an external estimator has not been asked yet.
  [[nodiscard]] std::vector<Observation> unasked() const;
  /// Returns the planned cases without an observation.
  [[nodiscard]] std::vector<const PlannedCase*> missing() const;
  /// Returns true if no case is missing, every estimator was asked, and every round was measured.
  [[nodiscard]] bool is_complete() const;

  /// Writes the run file, complete or not, with the observations in the planned order, and removes the
  /// partial one.
  void finish();

 private:
  void read_partial();
  void check_observations() const;
  void write_all();
  void append_context();
  void keep(Observation observation);
  void read_one(Observation observation);
  void replace_earlier_by(const Observation& observation);
  /// Returns the observation with messages that may be published.
  [[nodiscard]] Observation published(Observation observation) const;

  std::filesystem::path run_file_;
  LineFile partial_;
  PrivateTexts private_texts_;
  bool started_ = false;
  bool earlier_stays_ = false;  ///< an earlier partial run is in the file, until a case is measured
  std::filesystem::path kept_;  ///< the new name of the earlier run, after that
  bool measured_ = false;
  bool is_set_aside_ = false;
  Run run_;
  std::unordered_map<std::string, std::size_t> places_;  ///< index of the observation of each case
};

/// Throws UsageError, naming the difference, if `context` cannot continue the run `recorded`.
void check_same_run(const RunContext& recorded, const RunContext& context, const std::filesystem::path& file);

}  // namespace peakmark
