#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "runfile/run_journal.hpp"
#include "subprocess/processes.hpp"
#include "supervise/progress.hpp"
#include "supervise/supervisor.hpp"

namespace peakmark {

/// Of `names`, the cases of a run that have a time and no second one yet, as the run planned them.
std::vector<PlannedCase> cases_to_confirm(const Run& run, const std::vector<std::string>& names);

/// Takes second times of cases that are measured already. What fails the second time stays as it was.
class Confirming final : public SupervisorListener {
 public:
  Confirming(RunJournal& journal, std::size_t cases);
  void started(const PlannedCase& planned) override { progress_.started(planned.name); }
  void finished(const PlannedCase& planned, const Observation& measured) override;
  void reference(const ReferenceTime& /*time*/) override {}  // the run's own stand already
  void starting(std::size_t cases) override {
    progress_.starting("starting the worker for " + quantity(cases, "case"));
  }
  void waiting() override { progress_.tick(); }
  void ended() override { end_orphans(); }
  void said(std::string_view line) override { progress_.message("worker: " + std::string(line)); }

 private:
  RunJournal& journal_;
  Progress progress_;
};

}  // namespace peakmark
