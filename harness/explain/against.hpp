#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explain/run_formulas.hpp"

namespace peakmark {

/// What an estimator answered about the shapes of some cases.
struct EstimatedCases {
  std::vector<std::optional<Size>> bytes;  ///< one a shape; null: no answer
  /// Bytes of each named term, one a shape; empty where the estimator does not name its terms.
  std::map<std::string, std::vector<Size>> terms;
  std::vector<std::string> errors;  ///< of the shapes that it failed on
};

/// Why an estimator is wrong.
struct EstimateCause {
  enum class Kind : std::uint8_t {
    missing,     ///< allocations that it leaves out
    extra,       ///< bytes that no allocation has
    wrong,       ///< allocations with another size
    difference,  ///< the rest: no cause was found
  };
  Kind kind = Kind::missing;
  std::string allocation;  ///< its name; for `extra` the term's; empty if it has none, or all are meant
  std::string phase;
  std::string where;
  std::string process;  ///< SequencedAllocation::process
  /// So many allocations of `of` with the same bytes. `of` is 0 if the number differs between shapes.
  Size copies = 1;
  Size of = 1;
  std::optional<Expression> each;  ///< bytes of one of them
  /// Others with the same bytes at every shape: an estimator may mean any of them.
  struct Place {
    std::string allocation;
    std::string where;
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> same_bytes;
  /// By how much the estimator is wrong: bytes that it lacks, or has too many if `is_too_high`; of `mixed`
  /// ones, recorded less estimated bytes. Null where the difference has no formula: then `recorded`.
  std::optional<Expression> bytes;
  bool is_too_high = false;
  bool is_mixed = false;       ///< too high at some shapes, too low at others
  std::vector<Size> recorded;  ///< the difference at each shape
  std::string condition;       ///< `nx is odd`; empty: at every shape, or the formula is 0 elsewhere
  std::string reason;          ///< `counted once instead of n times`; empty where the kind says all
};

std::string_view to_string(EstimateCause::Kind kind);

/// Returns the causes of the difference between the recorded peaks and an estimator; none if the estimator is
/// exact at every shape that it answered. The causes add up to the whole difference at every shape: what no
/// cause explains is a `difference`.
std::vector<EstimateCause> find_causes(const RecordedCases& cases, const EstimatedCases& estimated);

/// Returns what the run file holds of an estimator's answers; `name` empty: of each variant's own estimator.
/// No shape has an answer if the run did not ask it.
EstimatedCases recorded_estimates(const RecordedCases& cases, const std::string& name);

/// What is reported of an estimator, for formulas of one variant.
struct EstimatorFindings {
  std::string estimator;
  std::size_t variant = 0;   ///< index into FormulaReport::variants
  std::string error;         ///< why it was not compared, or failed on some shapes; else empty
  std::size_t compared = 0;  ///< shapes that it answered
  std::size_t wrong = 0;     ///< of these: bytes that differ from the peak
  std::vector<EstimateCause> causes;

  [[nodiscard]] bool is_exact() const { return wrong == 0 && error.empty(); }
};

/// Compares an estimator with the formulas of a variant. `estimated`: one for each of `variant.cases`. Causes
/// that not all combinations of words have name theirs in the condition.
EstimatorFindings compare_estimator(const VariantFormulas& variant, const std::string& estimator,
                                    const std::vector<EstimatedCases>& estimated);

}  // namespace peakmark
