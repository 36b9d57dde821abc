#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "measure/sweep/description.hpp"
#include "measure/sweep/float_range.hpp"
#include "measure/sweep/metric_name.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "measure/sweep/program_toml.hpp"
#include "measure/sweep/suite.hpp"
#include "measure/sweep/suite_document.hpp"
#include "measure/sweep/suite_keys.hpp"
#include "measure/sweep/toml_reader.hpp"

namespace peakmark {
namespace {

class Reader : private TomlReader {
 public:
  explicit Reader(const std::filesystem::path& file) : TomlReader(file.string()), file_(file) {}

  SuiteDocument read(const toml::table& table) {
    SuiteDocument suite;
    suite.file = file_;
    suite.name = file_.stem().string();
    each_key(table, "", suite_words("suite"), [&](const TomlEntry& entry, const SourceLocation& place) {
      if (entry.key == "name") {
        suite.name = word(*entry.node, place);
        if (suite.name.empty()) fail(place, "empty name");
      } else if (entry.key == "worker") {
        suite.worker = {word(*entry.node, place), place};
        if (suite.worker->value.empty()) fail(place, "empty path: write worker = \"build/blur\"");
      } else if (entry.key == "backend") {
        suite.backends = backends(*entry.node, place);
      } else if (entry.key == "sweep") {
        for (const toml::table* sweep : tables(*entry.node, place, "[[sweep]]")) {
          suite.sweeps.push_back(read_sweep(*sweep));
        }
      } else if (entry.key == "program") {
        for (const toml::table* program : tables(*entry.node, place, "[[program]]")) {
          suite.programs.push_back(read_program(*program, file_));
        }
      } else if (entry.key == "estimator") {
        for (const toml::table* estimator : tables(*entry.node, place, "[[estimator]]")) {
          suite.estimators.push_back(read_external_estimator(*estimator, file_));
        }
      } else {
        read_expectation(entry, place, suite.expectation);
      }
    });
    if (suite.sweeps.empty()) fail({file_name(), 1, "sweep"}, "no [[sweep]] in the suite");
    return suite;
  }

 private:
  std::vector<Located<std::string>> backends(const toml::node& node, const SourceLocation& place) {
    std::vector<Located<std::string>> named = words(node, place);
    for (const Located<std::string>& backend : named) check_backend(backend);
    return named;
  }

  static void check_backend(const Located<std::string>& backend) {
    const auto& known = known_backends();
    if (std::ranges::find(known, backend.value) == known.end()) {
      fail(backend.place,
           fmt::format("unknown backend '{}'{}", backend.value, suggest_word(backend.value, known)));
    }
  }

  static void check_rule_backends(const std::vector<Located<AxisValue>>& values) {
    for (const Located<AxisValue>& value : values) {
      const std::string backend = to_text(value.value);
      check_backend({backend, value.place});
      if (backend == "auto") {
        fail(value.place, "rules apply to resolved backends: write cuda, dry or opencl");
      }
    }
  }

  SweepDocument read_sweep(const toml::table& table) {
    SweepDocument sweep;
    sweep.place = {file_name(), table.source().begin.line, "sweep"};
    std::vector<std::pair<toml::source_position, Dimension>> dimensions;
    each_key(table, "", suite_words("sweep"), [&](const TomlEntry& entry, const SourceLocation& place) {
      if (entry.key == "variants") {
        sweep.variants = words(*entry.node, place);
        for (const Located<std::string>& name : sweep.variants) {
          if (name.value.empty()) fail(name.place, "empty name");
        }
      } else if (entry.key == "backend") {
        sweep.backends = backends(*entry.node, place);
      } else if (entry.key == "figure") {
        sweep.figure = figure(*entry.node, place);
      } else if (entry.key == "axes") {
        read_axes(entry, place, dimensions, sweep.derived);
      } else if (entry.key == "zip") {
        for (const toml::table* group : tables(*entry.node, place, "an array of tables")) {
          dimensions.emplace_back(group->source().begin, read_zip(*group, place));
        }
      } else if (entry.key == "rule") {
        for (const toml::table* rule : tables(*entry.node, place, "[[sweep.rule]]")) {
          sweep.rules.push_back(read_rule(*rule));
        }
      } else {
        read_expectation(entry, place, sweep.expectation);
      }
    });
    if (sweep.variants.empty()) fail({file_name(), sweep.place.line, "variants"}, "no variants in the sweep");
    std::ranges::stable_sort(dimensions, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [position, dimension] : dimensions) sweep.dimensions.push_back(std::move(dimension));
    refuse_repeated_axes(sweep);
    return sweep;
  }

  void read_axes(const TomlEntry& axes, const SourceLocation& place,
                 std::vector<std::pair<toml::source_position, Dimension>>& dimensions,
                 std::vector<DerivedAxis>& derived) {
    const toml::table* table = axes.node->as_table();
    if (table == nullptr) fail(place, "must be a table of axes: axes.nx = 512");
    for (const TomlEntry& axis : in_file_order(*table)) {
      const SourceLocation axis_place = at(axis, "axes.");
      const toml::table* spec = axis.node->as_table();
      if (spec != nullptr && spec->contains("formula")) {
        derived.push_back(read_derived(axis.key, *spec, axis_place));
      } else {
        dimensions.emplace_back(axis.position, Dimension{{read_values(axis.key, *axis.node, axis_place)}});
      }
    }
  }

  DerivedAxis read_derived(const std::string& axis, const toml::table& spec, const SourceLocation& place) {
    each_key(spec, place.key + ".", {"formula"}, [](const auto&...) {});
    const std::string text = word(*spec.get("formula"), place);
    return {axis, place, check_here(place, [&] { return Formula(text); })};
  }

  Dimension read_zip(const toml::table& group, const SourceLocation& place) {
    Dimension zipped;
    for (const TomlEntry& axis : in_file_order(group)) {
      const SourceLocation axis_place = at(axis, "zip.");
      const toml::table* spec = axis.node->as_table();
      if (spec != nullptr && spec->contains("formula")) {
        fail(axis_place, "formulas cannot be zipped: put them under axes");
      }
      zipped.axes.push_back(read_values(axis.key, *axis.node, axis_place));
      if (zipped.axes.back().values.size() != zipped.size()) {
        fail(axis_place,
             fmt::format("{} values, but the zipped axis '{}' has {}", zipped.axes.back().values.size(),
                         zipped.axes.front().axis, zipped.size()));
      }
    }
    if (zipped.axes.empty())
      fail({file_name(), group.source().begin.line, place.key}, "empty group: name at least one axis");
    return zipped;
  }

  AxisValues read_values(const std::string& axis, const toml::node& node, const SourceLocation& place) {
    AxisValues values{axis, place, {}};
    const toml::table* const spec = node.as_table();
    if (spec != nullptr && is_float_range(*spec)) {
      for (const double number : read_float_range(*spec, place)) values.values.push_back({number, place});
    } else if (spec != nullptr) {
      for (const Size integer : read_span(*spec, place)) values.values.push_back({integer, place});
    } else {
      values.values = list(node, place);
    }
    return values;
  }

  static bool is_float_range(const toml::table& spec) {
    return std::ranges::any_of(std::array{"from", "to", "step"}, [&](const char* key) {
      return spec.contains(key) && spec.get(key)->is_floating_point();
    });
  }

  std::vector<double> read_float_range(const toml::table& spec, const SourceLocation& place) {
    only(spec, place, {"from", "to", "step"});
    const auto bound = [&](const char* key) {
      const auto number = spec.contains(key) ? spec.get(key)->value<double>() : std::nullopt;
      if (!number || !std::isfinite(*number))
        fail(place, fmt::format("a range of floating-point numbers needs a finite number as '{}'", key));
      return *number;
    };
    return expand_range(bound("from"), bound("to"), bound("step"), place);
  }

  std::vector<Size> read_span(const toml::table& spec, const SourceLocation& place) {
    if (spec.contains("pow2")) {
      only(spec, place, {"pow2"});
      return powers_of_two(*spec.get("pow2"), place);
    }
    only(spec, place, {"from", "to", "step"});
    if (!spec.contains("from") || !spec.contains("to")) {
      fail(place, "must be a list, { from, to, step }, { pow2 = [MIN, MAX] } or { formula = \"…\" }");
    }
    const Size from = integer(*spec.get("from"), place);
    const Size to = integer(*spec.get("to"), place);
    const Size step = spec.contains("step") ? integer(*spec.get("step"), place) : 1;
    if (step < 1) fail(place, fmt::format("step must be at least 1, not {}", step));
    if (from > to) fail(place, fmt::format("empty range: {} to {}", from, to));
    std::vector<Size> values;
    for (Size value = from;; value += step) {
      values.push_back(value);
      if (values.size() > kMaxCases) fail(place, fmt::format("range of more than {} values", kMaxCases));
      // value + step could overflow.
      if (static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(value) <
          static_cast<std::uint64_t>(step)) {
        return values;
      }
    }
  }

  std::vector<Size> powers_of_two(const toml::node& node, const SourceLocation& place) {
    const toml::array* bounds = node.as_array();
    if (bounds == nullptr || bounds->size() != 2) {
      fail(place, "must be [MIN, MAX], two exponents: pow2 = [8, 11] is 256, 512, 1024, 2048");
    }
    const Size min = integer(*bounds->get(0), place);
    const Size max = integer(*bounds->get(1), place);
    if (min < 0 || max > 62 || min > max) {
      fail(place, fmt::format("pow2 = [{}, {}]: must be 0 ≤ MIN ≤ MAX ≤ 62", min, max));
    }
    std::vector<Size> values;
    for (Size exponent = min; exponent <= max; ++exponent) values.push_back(Size{1} << exponent);
    return values;
  }

  CaseRule read_rule(const toml::table& table) {
    CaseRule rule;
    rule.place = {file_name(), table.source().begin.line, "rule"};
    each_key(table, "rule.", suite_words("rule"), [&](const TomlEntry& entry, const SourceLocation& place) {
      if (entry.key == "when") {
        rule.when = conditions(*entry.node, place);
        for (const CaseCondition& condition : rule.when) {
          if (condition.key == "backend") check_rule_backends(condition.values);
        }
      } else if (entry.key == "skip") {
        rule.skip = truth(*entry.node, place);
      } else {
        read_expectation(entry, place, rule.expectation);
      }
    });
    if (rule.when.empty()) fail(rule.place, "no condition: add when = { mode = \"edge\" }");
    return rule;
  }

  static void read_expectation(const TomlEntry& entry, const SourceLocation& place,
                               Expectation& expectation) {
    if (entry.key == "window") {
      const std::string text = word(*entry.node, place);
      expectation.window = check_here(place, [&] { return parse_window(text); });
    } else if (entry.key == "expect") {
      const std::string outcome = word(*entry.node, place);
      const std::vector<std::string>& outcomes = suite_words("expect");
      if (std::ranges::find(outcomes, outcome) == outcomes.end()) {
        fail(place, fmt::format("unknown outcome '{}'{}", outcome, suggest_word(outcome, outcomes)));
      }
      expectation.outcome = outcome;
    } else if (entry.key == "version") {
      expectation.version = integer(*entry.node, place);
      if (*expectation.version < 1)
        fail(place, fmt::format("version {}: must be 1 or more", *expectation.version));
    } else if (entry.key == "max_peak") {
      const std::string text = limit(*entry.node, place);
      expectation.limits.peak_bytes = check_here(place, [&] { return parse_peak_limit(text); });
    } else if (entry.key == "max_peak_over_floor") {
      expectation.limits.peak_over_floor = ratio(*entry.node, place);
    } else if (entry.key == "max_time") {
      const std::string text = limit(*entry.node, place);
      expectation.limits.time_ns = check_here(place, [&] { return parse_time_limit(text); });
    } else if (entry.key == "allow_growth") {
      expectation.limits.growth = allowance(*entry.node, place);
    } else if (entry.key == "allow_shrinking") {
      expectation.limits.shrinking = allowance(*entry.node, place);
    } else if (entry.key == "min_metric") {
      read_metric_limits(*entry.node, place, expectation.limits, &MetricLimit::min);
    } else if (entry.key == "max_metric") {
      read_metric_limits(*entry.node, place, expectation.limits, &MetricLimit::max);
    } else if (entry.key == "estimators") {
      expectation.estimators = entry.node->is_array() && entry.node->as_array()->empty()
                                   ? std::vector<Located<std::string>>{}
                                   : words(*entry.node, place);
    }
  }

  /// Reads a text; a number lacks its unit.
  static std::string limit(const toml::node& node, const SourceLocation& place) {
    if (node.is_number()) fail(place, "a number has no unit: write a string such as \"3 GiB\" or \"2 ms\"");
    return word(node, place);
  }

  static GrowthAllowance allowance(const toml::node& node, const SourceLocation& place) {
    if (node.is_number()) fail(place, "a number has no unit: write a string such as \"5 %\" or \"64 KiB\"");
    const std::string text = word(node, place);
    return check_here(place, [&] { return parse_allowance(text); });
  }

  static void read_metric_limits(const toml::node& node, const SourceLocation& place, Limits& limits,
                                 std::optional<double> MetricLimit::*bound) {
    const toml::table* const table = node.as_table();
    if (table == nullptr || table->empty()) {
      fail(place, fmt::format("must be a table of metrics: {} = {{ iterations = 30 }}",
                              place.key.substr(place.key.rfind('.') + 1)));
    }
    for (const TomlEntry& entry : in_file_order(*table)) {
      const SourceLocation metric_place{place.file, entry.position.line, place.key + "." + entry.key};
      check_here(metric_place, [&] { check_metric_name(entry.key); });
      const std::optional<double> value = entry.node->value<double>();
      if (!entry.node->is_number() || !value || !std::isfinite(*value))
        fail(metric_place, "must be a number, such as 30 or 0.5");
      limits.metric(entry.key).*bound = value;
    }
  }

  static double ratio(const toml::node& node, const SourceLocation& place) {
    const std::optional<double> value = node.value<double>();
    if (!node.is_number() || !value || !std::isfinite(*value) || *value <= 0)
      fail(place, "must be a number above 0, such as 1.05");
    return *value;
  }

  void refuse_repeated_axes(const SweepDocument& sweep) {
    std::vector<const SourceLocation*> places;
    std::vector<std::string> seen;
    const auto once = [&](const std::string& axis, const SourceLocation& place) {
      if (const auto found = std::ranges::find(seen, axis); found != seen.end()) {
        const SourceLocation& first = *places[static_cast<std::size_t>(found - seen.begin())];
        fail(place, fmt::format("duplicate axis '{}': it is already in {}:{}", axis, first.file, first.line));
      }
      seen.push_back(axis);
      places.push_back(&place);
    };
    for (const DerivedAxis& derived : sweep.derived) once(derived.axis, derived.place);
    for (const Dimension& dimension : sweep.dimensions) {
      for (const AxisValues& axis : dimension.axes) once(axis.axis, axis.place);
    }
  }

  /// Checks the name of a figure, which is used in file names.
  std::string figure(const toml::node& node, const SourceLocation& place) {
    std::string text = word(node, place);
    constexpr const char* kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (text.empty() || text.find_first_not_of(kAllowed) != std::string::npos) {
      fail(place, fmt::format("malformed figure name '{}': use letters, digits, - and _", text));
    }
    return text;
  }

  void only(const toml::table& table, const SourceLocation& place, const std::vector<std::string>& keys) {
    for (const TomlEntry& entry : in_file_order(table)) {
      if (std::ranges::find(keys, entry.key) == keys.end()) {
        const std::vector<std::string>& known = suite_words("axis");
        const bool mixed = std::ranges::find(known, entry.key) != known.end();
        if (mixed)
          fail(at(entry, place.key + "."), fmt::format("cannot be combined with '{}'", keys.front()));
        unknown(at(entry, place.key + "."), entry.key, known);
      }
    }
  }

  std::filesystem::path file_;
};

}  // namespace

SuiteDocument parse_suite_document(std::string_view text, const std::filesystem::path& file) {
  toml::table table;
  try {
    table = toml::parse(text, file.string());
  } catch (const toml::parse_error& error) {
    const toml::source_position place = error.source().begin;
    throw UsageError(
        fmt::format("{}:{}:{}: {}", file.string(), place.line, place.column, error.description()));
  }
  return Reader(file).read(table);
}

SuiteDocument read_suite_document(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    throw UsageError(fmt::format("suite '{}' is a folder: name a .toml file in it", file.string()));
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.is_open() || stream.bad()) {
    throw UsageError(fmt::format("cannot read suite '{}': check that it exists", file.string()));
  }
  return parse_suite_document(text, file);
}

}  // namespace peakmark
