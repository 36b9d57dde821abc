#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sweep/description.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

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
