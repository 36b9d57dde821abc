#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyse/explain/derive/run_formulas.hpp"

namespace peakmark {

/// The answers of an estimator about the shapes of some cases.
struct EstimatedCases {
  std::vector<std::optional<Size>> bytes;  ///< one per shape; null: no answer
  /// Bytes of each named term, one per shape; empty if the estimator does not name its terms.
  std::map<std::string, std::vector<Size>> terms;
  std::vector<std::string> errors;  ///< for the shapes on which it failed
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
  std::string allocation;  ///< name of the allocation, for `extra` of the term; empty if it has none, or all
                           ///< allocations are meant
  std::string phase;
  std::string where;
  std::string process;  ///< SequencedAllocation::process
  /// `copies` of `of` allocations with the same bytes are concerned. `of` is 0 if their number differs
  /// between shapes.
  Size copies = 1;
  Size of = 1;
  std::optional<Expression> each;  ///< bytes of one allocation
  /// Other allocations with the same bytes at every shape: the estimator may mean any of them.
  struct Place {
    std::string allocation;
    std::string where;
    bool operator==(const Place&) const = default;
  };
  std::vector<Place> same_bytes;
  /// The error of the estimator: the bytes that it lacks, or has too many if `is_too_high`; recorded minus
  /// estimated bytes if `is_mixed`. Null if the difference has no formula; see `recorded`.
  std::optional<Expression> bytes;
  bool is_too_high = false;
  bool is_mixed = false;       ///< too high at some shapes, too low at others
  std::vector<Size> recorded;  ///< the difference at each shape
  std::string condition;  ///< `nx is odd`; empty: at every shape, or the formula is 0 at the other shapes
  std::string reason;     ///< `counted once instead of n times`; empty if the kind is sufficient
};

std::string_view to_string(EstimateCause::Kind kind);

/// Returns the causes of the difference between the recorded peaks and an estimator; empty if the estimator
/// is exact at every shape for which it answered. At every shape the causes add up to the whole difference: a
/// remainder without a known cause is a `difference`.
std::vector<EstimateCause> find_causes(const RecordedCases& cases, const EstimatedCases& estimated);

/// Returns an estimator's answers in the run file; `name` empty: the answers of each variant's default
/// estimator. If the run did not ask it, no shape has an answer.
EstimatedCases recorded_estimates(const RecordedCases& cases, const std::string& name);

/// The findings about an estimator, for formulas of one variant.
struct EstimatorFindings {
  std::string estimator;
  std::size_t variant = 0;   ///< index into FormulaReport::variants
  std::string error;         ///< why it was not compared, or failed on some shapes; else empty
  std::size_t compared = 0;  ///< number of shapes for which it answered
  std::size_t wrong = 0;     ///< number of these whose bytes differ from the peak
  std::vector<EstimateCause> causes;

  [[nodiscard]] bool is_exact() const { return wrong == 0 && error.empty(); }
};

/// Compares an estimator with the formulas of a variant. `estimated`: one for each of `variant.cases`. If
/// only some combinations of words have a cause, its condition names them.
EstimatorFindings compare_estimator(const VariantFormulas& variant, const std::string& estimator,
                                    const std::vector<EstimatedCases>& estimated);

}  // namespace peakmark
