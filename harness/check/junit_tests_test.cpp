#include "check/junit_tests.hpp"

#include <gtest/gtest.h>

#include <pugixml.hpp>

namespace peakmark {
namespace {

TEST(JunitText, CountsItsTests) {
  using enum JunitTest::Result;
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit_text("<a> & b", {{"1", "c"},
                                                          {"2", "c", passed, "", "fine"},
                                                          {"3", "c", failed, "leak", "\x01 & <", "where"},
                                                          {"4", "c", skipped, "", "not run"}})
                                       .c_str()));
  for (const pugi::xml_node node :
       {document.child("testsuites"), document.child("testsuites").child("testsuite")}) {
    EXPECT_EQ(node.attribute("tests").as_int(), 4);
    EXPECT_EQ(node.attribute("failures").as_int(), 1);
    EXPECT_EQ(node.attribute("skipped").as_int(), 1);
  }
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_STREQ(suite.attribute("name").value(), "<a> & b");
  pugi::xml_node test = suite.first_child();
  EXPECT_TRUE(test.first_child().empty());
  test = test.next_sibling();
  EXPECT_STREQ(test.child("system-out").child_value(), "fine");
  test = test.next_sibling();
  EXPECT_STREQ(test.child("failure").attribute("type").value(), "leak");
  EXPECT_STREQ(test.child("failure").attribute("message").value(), "\xEF\xBF\xBD & <");
  EXPECT_STREQ(test.child("failure").child_value(), "where");
  test = test.next_sibling();
  EXPECT_STREQ(test.child("skipped").attribute("message").value(), "not run");
}

}  // namespace
}  // namespace peakmark
