#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyse/explain/derive/run_formulas.hpp"
#include "analyse/history/history.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark::cli {

/// The formulas of variants in runs of a history. Each run is read once and each formula found once; returned
/// references are valid as long as this object. Not thread-safe.
class HistoryFormulas {
 public:
  explicit HistoryFormulas(history::History& history) : history_(history) {}

  /// Returns the first observation of a case in a run; null if there is none.
  const Observation* find_case(const std::string& run_id, std::string_view case_name);

  /// Returns the formulas of a variant; empty if none of its cases has an allocation sequence.
  const std::vector<VariantFormulas>& formulas(const std::string& run_id, const std::string& variant);

  /// Returns the causes of the wrong estimates of a variant, one per line.
  const std::vector<std::string>& causes(const std::string& run_id, const std::string& variant);

 private:
  struct IndexedRun {
    Run run;
    std::unordered_map<std::string_view, const Observation*> by_case;  ///< points into `run`
  };
  struct Explained {
    Run cases;  ///< of the variant; `formulas` refers to it
    std::vector<VariantFormulas> formulas;
  };

  const IndexedRun& run(const std::string& id);

  history::History& history_;
  std::map<std::string, IndexedRun> runs_;
  std::map<std::pair<std::string, std::string>, Explained> explained_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> causes_;
};

}  // namespace peakmark::cli
