#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/supervise/supervisor.hpp"

namespace peakmark {

/// Returns the case in which the fake worker (fake_worker.cpp) does `deed`.
inline PlannedCase planned_deed(const std::string& deed, int n = 1) {
  PlannedCase planned;
  planned.name = "fake/case/dry/does:" + deed + "/n:" + std::to_string(n);
  planned.sweep_case = {"fake/case", "dry", Parameters({{"does", deed}, {"n", Size{n}}})};
  return planned;
}

/// Keeps what a supervisor reports.
class RecordingListener : public SupervisorListener {
 public:
  void started(const PlannedCase& planned) override {
    started_.push_back(planned.name);
    if (at_start_) at_start_();
  }
  void finished(const PlannedCase& planned, const Observation& observation) override {
    EXPECT_EQ(planned.name, observation.case_name);
    if (at_finish_) at_finish_();
    observations_.push_back(observation);
  }
  void reference(const ReferenceTime& time) override { references_.push_back(time); }
  void starting(std::size_t cases) override { batches_.push_back(cases); }
  void ended() override { ++workers_; }
  void said(std::string_view line) override { said_.emplace_back(line); }

  std::vector<std::string> outcomes() const {
    std::vector<std::string> outcomes;
    for (const Observation& observation : observations_)
      outcomes.emplace_back(to_string(observation.outcome));
    return outcomes;
  }

  std::vector<std::string> started_;
  std::vector<Observation> observations_;
  std::vector<ReferenceTime> references_;
  std::vector<std::string> said_;
  std::vector<std::size_t> batches_;  ///< number of cases of each started worker
  int workers_ = 0;                   ///< number of ended workers
  std::function<void()> at_start_;
  std::function<void()> at_finish_;
};

}  // namespace peakmark
