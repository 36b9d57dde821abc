#pragma once

#include <vector>

#include "analyse/fit/oom_run.hpp"

namespace peakmark {

/// In words of a request with jobs, this placeholder is replaced by the number of the job, from 1: jobs must
/// not write the same file.
inline constexpr const char* kJobPlaceholder = "{job}";

/// Throws UsageError if the jobs would write the same compared file.
void check_jobs(const OomRequest& request);
/// Returns the request of one job, with its placeholders replaced.
OomRequest with_job_number(OomRequest request, int job);

/// Refuses the chosen allocations in `request.jobs` child processes, `peakmark oom --allocations …`, each of
/// which first runs the program without a refusal. Adds the refusals in the order of the allocations. Throws
/// Interrupted after a signal, and the error of the first job that failed; before that, it ends the children
/// and the processes that they started.
void refuse_in_jobs(const OomRequest& request, const std::vector<Size>& chosen, OomReport& report);

}  // namespace peakmark
