#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runfile/observation.hpp"

namespace peakmark {

/// How a program takes a refused allocation, from best to worst.
enum class RefusalOutcome : std::uint8_t {
  not_refused,   ///< this run did not make the allocation, or it could not be refused
  handled,       ///< it ended in order, with a message that names memory
  retried,       ///< it went on, and its result is the same
  leaked,        ///< it went on, and more memory is live at its end
  hung,          ///< it did not end in time
  crashed,       ///< a signal, or an end without a message that names memory
  unusable,      ///< afterwards the device or the program fails without a refusal
  wrong_result,  ///< it went on, and its result is another one
};
/// Returns the name in the output: `wrong_result`.
std::string_view to_string(RefusalOutcome outcome);
/// Returns whether a run with this outcome fails: hung, crashed, unusable or wrong_result.
bool is_failure(RefusalOutcome outcome);

/// One refused allocation, and what the program made of it.
struct Refusal {
  Size index = 0;  ///< of the allocations of the program, from 1
  Size bytes = 0;
  std::string name;   ///< as the program named it; may be empty
  std::string where;  ///< call site without wrappers: `padding.py:88`; empty without call stacks
  RefusalOutcome outcome = RefusalOutcome::handled;
  std::optional<int> exit_code;      ///< null: a signal, or it did not end in time
  std::optional<Size> leaked_bytes;  ///< live at the end beyond those without a refusal; null: not known
  std::string message;               ///< how the program ended, with its last words
  std::vector<std::string> last_lines = {};  ///< that a program wrote which did not end with 0
};

/// Judges a run in which the allocation `index` was refused. `reference`: the run without a refusal.
/// `is_same_result`: null if results were not compared. Returns it without bytes and place.
Refusal judge_refusal(Size index, const Observation& reference, const Observation& refused,
                      std::optional<bool> is_same_result);

/// Changes the outcome to `unusable` if what was measured after the refusal, without one, is not as before:
/// the next case of the same process, or the program.
void add_next_case(Refusal& refusal, const Observation& reference, const Observation& next);

/// Which allocations are refused.
struct RefusalChoice {
  std::vector<Size> indices = {};  ///< only these, from 1; empty: all
  bool sample = false;             ///< only the first, the last, the largest and the first of each call site
  std::string only = {};           ///< only those whose call chain or name contains this
  std::optional<Size> count = std::nullopt;  ///< at most this many, drawn at random
  std::uint64_t seed = 0;
};

/// Returns the indices of the allocations to refuse, from 1, in ascending order. Throws UsageError if `only`
/// is nowhere, and for an index that is too large.
std::vector<Size> choose_refusals(const AllocationSequence& allocations, const RefusalChoice& choice);

/// The answer of `peakmark oom`.
struct OomReport {
  std::string program;
  std::string device;
  Size allocations = 0;    ///< of the run without a refusal
  bool is_program = true;  ///< false: a variant, which verifies its results
  bool is_result_compared = false;
  std::vector<Refusal> refusals;  ///< in the order of the allocations
  std::vector<std::string> notes;
};

/// Returns a table with a row for each call site and outcome, the worst first, and what to read next.
std::string oom_text(const OomReport& report);
/// Returns the output of `oom --json` (docs/oom.md).
std::string oom_json(const OomReport& report);
/// Reads the refusals and notes of such an output.
OomReport parse_oom_json(const std::string& text);
/// Returns a JUnit file with a test case for each refusal.
std::string oom_junit(const OomReport& report);

}  // namespace peakmark
