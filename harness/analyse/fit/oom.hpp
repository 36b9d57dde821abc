#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/runfile/observation.hpp"

namespace peakmark {

/// How a program reacts to a refused allocation, from best to worst.
enum class RefusalOutcome : std::uint8_t {
  not_refused,   ///< this run did not make the allocation, or it could not be refused
  handled,       ///< it ended in an orderly way, with a message that names memory
  retried,       ///< it continued, and its result is the same
  leaked,        ///< it continued, and more memory is live at its end
  hung,          ///< it did not end in time
  crashed,       ///< ended by a signal, or without a message that names memory
  unusable,      ///< afterwards the device or the program fails, although nothing is refused
  wrong_result,  ///< it continued, and its result differs
};
/// Returns the name in the output: `wrong_result`.
std::string_view to_string(RefusalOutcome outcome);
/// Returns whether a run with this outcome fails: hung, crashed, unusable or wrong_result.
bool is_failure(RefusalOutcome outcome);

/// One refused allocation, and the program's reaction.
struct Refusal {
  Size index = 0;  ///< number of the allocation in the program, from 1
  Size bytes = 0;
  std::string name;   ///< given by the program; may be empty
  std::string where;  ///< call site without wrappers: `padding.py:88`; empty without call stacks
  RefusalOutcome outcome = RefusalOutcome::handled;
  std::optional<int> exit_code;  ///< null: a signal, or it did not end in time
  std::optional<Size>
      leaked_bytes;     ///< extra bytes live at the end, compared with a run without refusal; null if unknown
  std::string message;  ///< how the program ended, with its last words
  std::vector<std::string> last_lines =
      {};  ///< its last lines of output, if a program did not end with exit code 0
};

/// Judges a run in which the allocation `index` was refused. `reference`: the run without a refusal.
/// `is_same_result`: null if results were not compared. The result has no bytes and no call site.
Refusal judge_refusal(Size index, const Observation& reference, const Observation& refused,
                      std::optional<bool> is_same_result);

/// Changes the outcome to `unusable` if a measurement after the refusal, without a refusal, differs from the
/// reference: the next case of the same process, or another run of the program.
void add_next_case(Refusal& refusal, const Observation& reference, const Observation& next);

/// The choice of allocations to refuse.
struct RefusalChoice {
  std::vector<Size> indices = {};  ///< only these, from 1; empty: all
  bool sample = false;             ///< only the first, the last, the largest and the first of each call site
  std::string only = {};           ///< only those whose call chain or name contains this
  std::optional<Size> count = std::nullopt;  ///< at most this many, drawn at random
  std::uint64_t seed = 0;
};

/// Returns the indices of the allocations to refuse, from 1, in ascending order. Throws UsageError if nothing
/// matches `only`, and for an index that is too large.
std::vector<Size> choose_refusals(const AllocationSequence& allocations, const RefusalChoice& choice);

/// The answer of `peakmark oom`.
struct OomReport {
  std::string program;
  std::string device;
  Size allocations = 0;    ///< number in the run without a refusal
  bool is_program = true;  ///< false: a variant, which verifies its results
  bool is_result_compared = false;
  std::vector<Refusal> refusals;  ///< sorted by index of the allocation
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
