#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/sweep/description.hpp"
#include "measure/sweep/suite.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {

/// Returns the worker `named`, found as a shell would, else `peakmark-bench` next to this program (in a build
/// folder: in `bench`). Throws EnvironmentError if there is none, and UsageError if `named` is missing, with
/// the text `typed` or `named`.
std::filesystem::path find_worker(const std::optional<std::string>& named, const std::string& typed = "");

/// Returns the worker that runs the programs of suites: `peakmark-programs` next to this program (in a build
/// folder: in `harness/measure/external`). Throws EnvironmentError if it is missing.
std::filesystem::path find_programs_worker();

/// Returns the worker of another build. `other` is the program itself, or a folder that contains `named` or
/// the end of that path: for `build/bin/blur` also `bin/blur` and `blur`. With `or_default` (no suite names a
/// worker) the folder may contain `peakmark-bench` instead: a build tree, an install prefix or a checkout in
/// which `ci/nightly` ran. Throws UsageError that lists where it looked, and begins with `place`, by default
/// `--build OTHER`.
std::filesystem::path find_worker_of(const std::filesystem::path& other,
                                     const std::filesystem::path& named = {}, bool or_default = true,
                                     const std::string& place = "");

/// The time limit for an answer of a worker that needs no measurement.
inline constexpr std::chrono::seconds kAnswerLimit{60};

/// Asks a worker for its description, with `arguments` before `--describe`. If it does not answer, throws
/// ProtocolError with its output.
Description describe_worker(const std::filesystem::path& program, int interrupt = -1,
                            const std::vector<std::string>& arguments = {},
                            std::chrono::milliseconds limit = kAnswerLimit);

/// Makes the worker check the cases of a suite without a device: a shape whose bytes overflow is an error of
/// the suite. Throws UsageError with the place of the sweep, the case and the error; the worker comes first
/// if the error is in the worker. Throws ProtocolError if it does not answer. Skips cases of variants that
/// the worker does not describe: they belong to another worker. `arguments` come before `--check`.
void check_cases(const std::filesystem::path& worker, const Description& description,
                 const std::vector<PlannedCase>& cases, int interrupt = -1,
                 const std::vector<std::string>& arguments = {});

/// Returns for each case what the worker's `--check` reports; empty if the case is valid. Like check_cases(),
/// but does not throw for an error of a case.
std::vector<std::string> case_mistakes(const std::filesystem::path& worker, const Description& description,
                                       const std::vector<PlannedCase>& cases, int interrupt = -1,
                                       const std::vector<std::string>& arguments = {});

/// A check of the cases of a suite, such as check_cases().
using CaseCheck = std::function<void(const std::vector<PlannedCase>&)>;

}  // namespace peakmark
