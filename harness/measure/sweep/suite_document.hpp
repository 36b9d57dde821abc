#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/sweep/external_estimator.hpp"
#include "measure/sweep/formula.hpp"
#include "measure/sweep/parameters.hpp"
#include "measure/sweep/program.hpp"
#include "measure/sweep/source_location.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {

/// The expectations of one part of a suite file.
struct Expectation {
  std::optional<Window> window;
  std::optional<std::string> outcome;
  std::optional<std::vector<Located<std::string>>> estimators;
  std::optional<Size> version;
  Limits limits;
};

/// The values of one axis; ranges and powers of two are expanded.
struct AxisValues {
  std::string axis;
  SourceLocation place;
  std::vector<Located<AxisValue>> values;
};

/// An axis, or zipped axes, which step together and have the same number of values.
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

/// Changes the expectations of some cases of a sweep, or skips them.
struct CaseRule {
  SourceLocation place;
  std::vector<CaseCondition> when;  ///< all conditions must hold
  Expectation expectation;
  bool skip = false;
};

struct SweepDocument {
  SourceLocation place;
  std::string figure;                          ///< empty: the sweep names none
  std::vector<Located<std::string>> variants;  ///< names, or patterns with `*`
  std::optional<std::vector<Located<std::string>>> backends;
  std::vector<Dimension> dimensions;  ///< in the order of the file
  std::vector<DerivedAxis> derived;
  Expectation expectation;
  std::vector<CaseRule> rules;
};

/// A parsed suite file. Its form is checked; its names are not.
struct SuiteDocument {
  std::filesystem::path file;
  std::string name;
  std::optional<Located<std::string>> worker;  ///< relative to the file's folder
  std::optional<std::vector<Located<std::string>>> backends;
  Expectation expectation;
  std::vector<std::shared_ptr<const ProgramDescription>> programs;
  std::vector<std::shared_ptr<const ExternalEstimator>> estimators;
  std::vector<SweepDocument> sweeps;
};

/// Reads a suite file. Throws UsageError.
SuiteDocument read_suite_document(const std::filesystem::path& file);
/// `file` is the name for messages.
SuiteDocument parse_suite_document(std::string_view text, const std::filesystem::path& file);

/// Expands documents to cases. Throws UsageError.
Suite expand_suites(const std::vector<SuiteDocument>& documents, const Description& description,
                    const ExpandOptions& options);

}  // namespace peakmark
