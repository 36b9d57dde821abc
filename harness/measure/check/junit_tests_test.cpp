#include "measure/check/junit_tests.hpp"

#include <gtest/gtest.h>

#include <pugixml.hpp>

namespace peakmark {
namespace {

TEST(JunitText, CountsItsTests) {
  using enum JunitTest::Result;
  pugi::xml_document document;
  JunitSuite written{"<a> & b",
                     {{"1", "c"},
                      {"2", "c", passed, "", "fine", "", 0.25},
                      {"3", "c", failed, "leak", "\x01 & <", "where", 1.5, {{"bytes", "7\x02"}}},
                      {"4", "c", skipped, "", "not run"},
                      {"5", "c", error, "crash", "it died"}}};
  written.properties = {{"option", "x"}};
  written.output = "end";
  ASSERT_TRUE(document.load_string(junit_text(written).c_str()));
  for (const pugi::xml_node node :
       {document.child("testsuites"), document.child("testsuites").child("testsuite")}) {
    EXPECT_EQ(node.attribute("tests").as_int(), 5);
    EXPECT_EQ(node.attribute("failures").as_int(), 1);
    EXPECT_EQ(node.attribute("errors").as_int(), 1);
    EXPECT_EQ(node.attribute("time").as_double(), 1.75);
    EXPECT_EQ(node.attribute("skipped").as_int(), 1);
  }
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_STREQ(suite.attribute("name").value(), "<a> & b");
  EXPECT_STREQ(suite.first_child().child("property").attribute("value").value(), "x");
  EXPECT_STREQ(suite.last_child().child_value(), "end");
  EXPECT_FALSE(suite.attribute("timestamp"));
  pugi::xml_node test = suite.child("testcase");
  EXPECT_TRUE(test.first_child().empty());
  test = test.next_sibling();
  EXPECT_STREQ(test.child("system-out").child_value(), "fine");
  EXPECT_EQ(test.attribute("time").as_double(), 0.25);
  test = test.next_sibling();
  EXPECT_STREQ(test.child("failure").attribute("type").value(), "leak");
  EXPECT_STREQ(test.child("failure").attribute("message").value(), "\xEF\xBF\xBD & <");
  EXPECT_STREQ(test.child("failure").child_value(), "where");
  EXPECT_STREQ(test.child("properties").child("property").attribute("value").value(), "7\xEF\xBF\xBD");
  test = test.next_sibling();
  EXPECT_STREQ(test.child("skipped").attribute("message").value(), "not run");
  EXPECT_FALSE(test.attribute("time"));
  test = test.next_sibling();
  EXPECT_STREQ(test.child("error").attribute("message").value(), "it died");
}

}  // namespace
}  // namespace peakmark
