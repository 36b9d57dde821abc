#include "check/junit_tests.hpp"

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

void add_result(pugi::xml_node node, const JunitTest& test) {
  switch (test.result) {
    case JunitTest::Result::passed:
      if (!test.message.empty()) set_text(node.append_child("system-out"), test.message);
      return;
    case JunitTest::Result::skipped:
      return set(node.append_child("skipped"), "message", test.message);
    case JunitTest::Result::failed:
      pugi::xml_node failure = node.append_child("failure");
      set(failure, "type", test.type);
      set(failure, "message", test.message);
      set_text(failure, test.details);
      return;
  }
}

}  // namespace

std::string junit_text(const std::string& suite, const std::vector<JunitTest>& tests) {
  pugi::xml_document document;
  pugi::xml_node all = document.append_child("testsuites");
  pugi::xml_node one = all.append_child("testsuite");
  set(one, "name", suite);
  for (pugi::xml_node node : {all, one}) {
    node.append_attribute("tests") = static_cast<unsigned long long>(tests.size());
    for (const auto& [name, result] :
         {std::pair("failures", JunitTest::Result::failed), {"skipped", JunitTest::Result::skipped}})
      node.append_attribute(name) =
          static_cast<unsigned long long>(std::ranges::count(tests, result, &JunitTest::result));
  }
  for (const JunitTest& test : tests) {
    pugi::xml_node node = one.append_child("testcase");
    set(node, "name", test.name);
    set(node, "classname", test.class_name);
    add_result(node, test);
  }
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace peakmark
