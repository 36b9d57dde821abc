#include "measure/check/junit_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <sstream>

#include "base/text.hpp"

namespace peakmark {
namespace {

void set(pugi::xml_node node, const char* attribute, const std::string& text) {
  node.append_attribute(attribute) = plain_text(text).c_str();
}

void set_text(pugi::xml_node node, const std::string& text) {
  if (!text.empty()) node.append_child(pugi::node_pcdata).set_value(plain_text(text).c_str());
}

void set_seconds(pugi::xml_node node, std::optional<double> seconds) {
  if (seconds) set(node, "time", fmt::format("{:.9f}", *seconds));
}

void add_output(pugi::xml_node node, const std::string& text) {
  if (!text.empty()) set_text(node.append_child("system-out"), text);
}

void add_properties(pugi::xml_node node, const JunitProperties& all) {
  if (all.empty()) return;
  pugi::xml_node properties = node.append_child("properties");
  for (const auto& [name, value] : all) {
    pugi::xml_node property = properties.append_child("property");
    set(property, "name", name);
    set(property, "value", value);
  }
}

void add_result(pugi::xml_node node, const JunitTest& test) {
  using enum JunitTest::Result;
  if (test.result == passed) return add_output(node, test.message);
  if (test.result == skipped) return set(node.append_child("skipped"), "message", test.message);
  pugi::xml_node failure = node.append_child(test.result == failed ? "failure" : "error");
  set(failure, "type", test.type);
  set(failure, "message", test.message);
  set_text(failure, test.details);
}

std::optional<double> sum_of_seconds(const std::vector<JunitTest>& tests) {
  std::optional<double> sum;
  for (const JunitTest& test : tests) {
    if (test.seconds) sum = sum.value_or(0) + *test.seconds;
  }
  return sum;
}

}  // namespace

JunitTest::Result junit_result(Judgement judgement) {
  if (judgement == Judgement::skipped) return JunitTest::Result::skipped;
  if (judgement < Judgement::fail) return JunitTest::Result::passed;
  return judgement == Judgement::fail ? JunitTest::Result::failed : JunitTest::Result::error;
}

std::string junit_class_name(std::string variant) {
  std::ranges::replace(variant, '/', '.');
  return variant;
}

std::string junit_text(const JunitSuite& suite) {
  using enum JunitTest::Result;
  pugi::xml_document document;
  pugi::xml_node all = document.append_child("testsuites");
  pugi::xml_node one = all.append_child("testsuite");
  set(one, "name", suite.name);
  if (!suite.date.empty()) set(one, "timestamp", suite.date);
  if (!suite.host.empty()) set(one, "hostname", suite.host);
  const std::optional<double> seconds = sum_of_seconds(suite.tests);
  for (pugi::xml_node node : {all, one}) {
    node.append_attribute("tests") = static_cast<unsigned long long>(suite.tests.size());
    for (const auto& [name, result] :
         {std::pair("failures", failed), {"errors", error}, {"skipped", skipped}})
      node.append_attribute(name) =
          static_cast<unsigned long long>(std::ranges::count(suite.tests, result, &JunitTest::result));
    set_seconds(node, seconds);
  }
  add_properties(one, suite.properties);
  for (const JunitTest& test : suite.tests) {
    pugi::xml_node node = one.append_child("testcase");
    set(node, "name", test.name);
    set(node, "classname", test.class_name);
    set_seconds(node, test.seconds);
    add_properties(node, test.properties);
    add_result(node, test);
  }
  add_output(one, suite.output);
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace peakmark
