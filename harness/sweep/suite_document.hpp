#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/external_estimator.hpp"
#include "sweep/formula.hpp"
#include "sweep/parameters.hpp"
#include "sweep/program.hpp"
#include "sweep/source_location.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

/// What is expected of cases, as far as this part of the file says.
struct Expectation {
  std::optional<Window> window;
  std::optional<std::string> outcome;
  std::optional<std::vector<Located<std::string>>> estimators;
};

/// The values of one axis: a list, a range or powers of two, written out.
struct AxisValues {
  std::string axis;
  SourceLocation place;
  std::vector<Located<AxisValue>> values;
};

/// An axis, or axes zipped: these step together and have as many values each.
struct Dimension {
  std::vector<AxisValues> axes;
  [[nodiscard]] std::size_t size() const { return axes.front().values.size(); }
};

/// An axis computed from others.
struct DerivedAxis {
  std::string axis;
  SourceLocation place;
  Formula formula;
};

/// Cases that differ from the rest of their sweep.
struct CaseRule {
  struct Condition {
    std::string key;  ///< `variant`, `backend` or an axis
    SourceLocation place;
    std::vector<Located<AxisValue>> values;  ///< one of them
  };
  SourceLocation place;
  std::vector<Condition> when;  ///< all of them
  Expectation expectation;
  bool skip = false;
};

struct SweepDocument {
  SourceLocation place;
  std::string figure;                          ///< empty: none named
  std::vector<Located<std::string>> variants;  ///< names, or patterns with `*`
  std::optional<std::vector<Located<std::string>>> backends;
  std::vector<Dimension> dimensions;  ///< in the order of the file
  std::vector<DerivedAxis> derived;
  Expectation expectation;
  std::vector<CaseRule> rules;
};

/// A suite file as it is written: its form is checked, its words are not.
struct SuiteDocument {
  std::filesystem::path file;
  std::string name;
  std::optional<Located<std::string>> worker;  ///< as it is written: relative to the file's folder
  std::optional<std::vector<Located<std::string>>> backends;
  Expectation expectation;
  std::vector<std::shared_ptr<const ProgramDescription>> programs;
  std::vector<std::shared_ptr<const ExternalEstimator>> estimators;
  std::vector<SweepDocument> sweeps;
};

/// Throws UsageError.
SuiteDocument read_suite_document(const std::filesystem::path& file);
/// `file` is the name that messages give.
SuiteDocument parse_suite_document(std::string_view text, const std::filesystem::path& file);

/// Throws UsageError.
Suite expand_suites(const std::vector<SuiteDocument>& documents, const Description& description,
                    const ExpandOptions& options);

}  // namespace peakmark
