#pragma once

#include <vector>

#include "fit/oom_run.hpp"

namespace peakmark {

/// In words of a request with jobs, stands for the number of the job, from 1: jobs must not write one file.
inline constexpr const char* kJobPlaceholder = "{job}";

/// Throws UsageError if the jobs would write one compared file.
void check_jobs(const OomRequest& request);
/// Returns the request of one job: its placeholders are filled.
OomRequest with_job_number(OomRequest request, int job);

/// Refuses the chosen allocations in `request.jobs` child processes, `peakmark oom --allocations …`, each of
/// which runs the program without a refusal first. Adds the refusals in the order of the allocations. Throws
/// Interrupted when a signal comes, and the error of the first job that failed; the children and what they
/// started are ended before.
void refuse_in_jobs(const OomRequest& request, const std::vector<Size>& chosen, OomReport& report);

}  // namespace peakmark
