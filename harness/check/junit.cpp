#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>
#include <string>

#include "base/text.hpp"
#include "check/reports.hpp"

namespace peakmark {
namespace {

void add_property(pugi::xml_node& properties, const char* name, const std::string& value) {
  pugi::xml_node property = properties.append_child("property");
  property.append_attribute("name") = name;
  property.append_attribute("value") = value.c_str();
}

void add_properties(pugi::xml_node& test, const JudgedCase& judged) {
  pugi::xml_node properties = test.append_child("properties");
  const Observation& observation = *judged.observation;
  add_property(properties, "outcome", std::string(to_string(observation.outcome)));
  if (observation.requested_peak_bytes) {
    add_property(properties, "requested_peak_bytes", std::to_string(*observation.requested_peak_bytes));
  }
  if (observation.setup_bytes)
    add_property(properties, "setup_bytes", std::to_string(*observation.setup_bytes));
  if (observation.gpu_time)
    add_property(properties, "gpu_time_ns", fmt::format("{:.0f}", observation.gpu_time->median_ns));
  for (const Rule rule : {Rule::window_slices, Rule::window_bytes, Rule::kernel_time, Rule::baseline}) {
    const auto figure = judged.figure(rule);
    if (figure)
      add_property(properties, std::string(to_string(rule)).c_str(), fmt::format("{:.6f}", *figure));
  }
}

/// Adds the options as properties of the suite, if they let something pass.
void add_options(pugi::xml_node& suite, const JudgeOptions& options) {
  if (notes_on(options).empty()) return;
  pugi::xml_node properties = suite.append_child("properties");
  add_property(properties, "allow_growth", options.allowed_growth.text);
  add_property(properties, "window_tolerance_bytes", std::to_string(options.window_tolerance));
}

/// Returns why the estimates of a case are wrong; empty if none failed.
std::string cause_text(const JudgedCase& judged, const std::vector<EstimateCauses>& causes) {
  const bool is_failed = std::ranges::any_of(judged.verdicts, [](const Verdict* verdict) {
    const bool is_window = verdict->rule == Rule::window_bytes || verdict->rule == Rule::window_slices;
    return is_window && verdict->judgement == Judgement::fail;
  });
  const auto of_variant = std::ranges::find(causes, judged.variant(), &EstimateCauses::variant);
  return is_failed && of_variant != causes.end() ? of_variant->text : std::string();
}

/// Adds one child: JUnit readers expect at most one for each test, so it has the texts of all verdicts.
void add_result(pugi::xml_node& test, const JudgedCase& judged, const std::vector<EstimateCauses>& causes) {
  const Verdict* worst = judged.worst();
  if (worst == nullptr) return;
  if (worst->judgement == Judgement::skipped) {
    test.append_child("skipped").append_attribute("message") = worst->advice.c_str();
    return;
  }
  if (worst->judgement < Judgement::fail) {
    std::string text;
    for (const Verdict* const verdict : judged.verdicts) {
      if (verdict->judgement == Judgement::pass) continue;
      text +=
          fmt::format("{}: {}: {}\n", label(verdict->judgement), to_string(verdict->rule), verdict->advice);
    }
    test.append_child("system-out").append_child(pugi::node_pcdata).set_value(text.c_str());
    return;
  }
  pugi::xml_node result = test.append_child(worst->judgement == Judgement::fail ? "failure" : "error");
  result.append_attribute("type") = std::string(to_string(worst->rule)).c_str();
  result.append_attribute("message") = worst->advice.c_str();
  std::string text;
  for (const Verdict* const verdict : judged.verdicts) {
    if (verdict->judgement >= Judgement::fail)
      text += fmt::format("{}: {}\n", to_string(verdict->rule), verdict->advice);
  }
  text += cause_text(judged, causes);
  result.append_child(pugi::node_pcdata).set_value(text.c_str());
}

/// Removes control characters, which XML cannot hold, from texts of programs.
class PlainTexts : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    for (pugi::xml_attribute attribute : node.attributes())
      attribute.set_value(plain_text(attribute.value()).c_str());
    if (node.type() == pugi::node_pcdata) node.set_value(plain_text(node.value()).c_str());
    return true;
  }
};

/// Returns `padding.coords1d` for `padding/coords1d`: viewers group by dots.
std::string class_name(const JudgedCase& judged) {
  std::string name = judged.variant();
  for (char& c : name) c = c == '/' ? '.' : c;
  return name;
}

}  // namespace

std::string junit(const Run& run, const std::vector<Verdict>& verdicts, const JudgeOptions& options,
                  const std::vector<EstimateCauses>& causes) {
  pugi::xml_document document;
  pugi::xml_node suites = document.append_child("testsuites");
  pugi::xml_node suite = suites.append_child("testsuite");
  add_options(suite, options);
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  double seconds = 0;
  const auto cases = by_case(run, verdicts);
  for (const JudgedCase& judged : cases) {
    pugi::xml_node test = suite.append_child("testcase");
    test.append_attribute("name") = std::string(judged.name).c_str();
    test.append_attribute("classname") = class_name(judged).c_str();
    if (judged.observation != nullptr) {
      if (judged.observation->gpu_time) {
        const double time = judged.observation->gpu_time->median_ns * 1e-9;
        test.append_attribute("time") = fmt::format("{:.9f}", time).c_str();
        seconds += time;
      }
      add_properties(test, judged);
    }
    add_result(test, judged, causes);
    failures += judged.judgement() == Judgement::fail;
    errors += judged.judgement() == Judgement::failed_measurement;
    skipped += !test.child("skipped").empty();
  }
  std::string all_causes;
  for (const EstimateCauses& one : causes) all_causes += one.text;
  if (!all_causes.empty())
    suite.append_child("system-out").append_child(pugi::node_pcdata).set_value(all_causes.c_str());
  suite.append_attribute("name") = run.context.suite.c_str();
  suite.append_attribute("timestamp") = run.context.date.c_str();
  suite.append_attribute("hostname") = run.context.host_name.c_str();
  for (pugi::xml_node node : {suites, suite}) {
    node.append_attribute("tests") = static_cast<unsigned long long>(cases.size());
    node.append_attribute("failures") = failures;
    node.append_attribute("errors") = errors;
    node.append_attribute("skipped") = skipped;
    node.append_attribute("time") = fmt::format("{:.9f}", seconds).c_str();
  }
  PlainTexts plain;
  document.traverse(plain);
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace peakmark
