#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "subprocess/worker_process.hpp"
#include "sweep/description.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

/// The worker that is meant: `named` as a shell would find it, or else `peakmark-bench` beside this program
/// (in a build folder: in `bench`). EnvironmentError when there is none, UsageError for one that was named,
/// with what was typed: `typed`, or `named`.
std::filesystem::path find_worker(const std::optional<std::string>& named, const std::string& typed = "");

/// The worker of the programs of suites: `peakmark-programs` beside this program (in a build folder: in
/// `harness/external`). EnvironmentError when it is not there.
std::filesystem::path find_programs_worker();

/// How long a worker may take for an answer that needs no measurement.
inline constexpr std::chrono::seconds kAnswerLimit{60};

/// Asks a worker what it can do. ProtocolError when it does not answer, with what it said instead.
/// `arguments` come before `--describe`.
Description describe_worker(const std::filesystem::path& program, int interrupt = -1,
                            const std::vector<std::string>& arguments = {},
                            std::chrono::milliseconds limit = kAnswerLimit);

/// Has the worker look at the cases of a suite, without a device: shapes that no machine can count are
/// mistakes of the suite. UsageError with the place of the sweep, the case and what is wrong with it; or,
/// where the worker says that it is itself wrong, or ends without an answer, with the worker first. Cases of
/// variants that the worker does not describe are another's (a program of the suite). A worker that does not
/// say `checks_cases` is not asked; it refuses such a case when it is to measure it. `arguments`: of the
/// worker, beside `--check`.
void check_cases(const std::filesystem::path& worker, const Description& description,
                 const std::vector<PlannedCase>& cases, int interrupt = -1,
                 const std::vector<std::string>& arguments = {});

/// The same, to be called with the cases of a suite.
using CaseCheck = std::function<void(const std::vector<PlannedCase>&)>;

}  // namespace peakmark
