// The readers accept every key of the schema and no other. test_suite_schema.py tests with the same files
// that the schema rejects the same suites as the readers.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "measure/sweep/suite_document.hpp"
#include "measure/sweep/suite_keys.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAreArray;

const nlohmann::json& schema() {
  static const nlohmann::json read =
      nlohmann::json::parse(std::ifstream(PEAKMARK_SUITES "/suite.schema.json"));
  return read;
}

/// Returns the keys of a table. Expects that each has a description, for editors.
std::vector<std::string> keys_of(const nlohmann::json& table) {
  std::vector<std::string> keys;
  for (const auto& [key, rest] : table.at("properties").items()) {
    keys.push_back(key);
    EXPECT_TRUE(rest.contains("$ref") || rest.contains("description")) << key << " has no description";
  }
  EXPECT_EQ(table.at("additionalProperties"), false);
  return keys;
}

/// A table of a suite: its part of the schema, and a suite in which `KEY` is one of its keys.
struct Table {
  const char* name;
  const nlohmann::json& in_schema;
  const std::vector<std::string>& keys;
  const char* suite;
};

/// Returns the suites of a file, which are separated by lines of ---.
std::vector<std::string> suites_in(const std::string& name) {
  std::ifstream file(PEAKMARK_SUITES "/" + name);
  std::vector<std::string> suites(1);
  for (std::string line; std::getline(file, line);) {
    if (line == "---") {
      suites.emplace_back();
    } else {
      suites.back() += line + "\n";
    }
  }
  return suites;
}

std::string message_of(const std::string& text) {
  try {
    (void)parse_suite_document(text, "s.toml");
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(SuiteSchema, HasTheKeysThatTheReadersTake) {
  const nlohmann::json& parts = schema().at("definitions");
  const Table tables[] = {
      {"the suite", schema(), suite_words("suite"), "KEY = 1970-01-01\n"},
      {"sweep", parts.at("sweep"), suite_words("sweep"), "[[sweep]]\nKEY = 1970-01-01\n"},
      {"rule", parts.at("rule"), suite_words("rule"), "[[sweep]]\n[[sweep.rule]]\nKEY = 1970-01-01\n"},
      {"program", parts.at("program"), suite_words("program"), "[[program]]\nKEY = 1970-01-01\n"},
      {"program.axes", parts.at("program_axis"), suite_words("program_axis"),
       "[[program]]\naxes.n = { KEY = 1970-01-01 }\n"},
      {"estimator", parts.at("estimator"), suite_words("estimator"), "[[estimator]]\nKEY = 1970-01-01\n"},
  };
  for (const Table& table : tables) {
    EXPECT_THAT(keys_of(table.in_schema), UnorderedElementsAreArray(table.keys)) << table.name;
    const auto message_with = [&](const std::string& key) {
      std::string text = table.suite;
      text.replace(text.find("KEY"), 3, key);
      return message_of(text);
    };
    // A listed key is read: no key takes a date.
    for (const std::string& key : table.keys)
      EXPECT_THAT(message_with(key), AllOf(ContainsRegex("^s.toml:[0-9]+: ([a-z.]*\\.)?" + key + ": "),
                                           Not(HasSubstr("unknown key"))))
          << key;
    EXPECT_THAT(message_with("zebra"), HasSubstr("unknown key")) << table.name;
  }
}

TEST(SuiteSchema, HasTheFormsOfAnAxis) {
  std::vector<std::string> keys;
  const nlohmann::json& parts = schema().at("definitions");
  for (const nlohmann::json& form : parts.at("span").at("oneOf")) {
    for (const std::string& key : keys_of(form)) keys.push_back(key);
  }
  for (const std::string& key : keys_of(parts.at("axis").at("oneOf").back())) keys.push_back(key);
  EXPECT_THAT(keys, UnorderedElementsAreArray(suite_words("axis")));
}

TEST(SuiteSchema, HasTheWordsOfClosedSets) {
  const nlohmann::json& parts = schema().at("definitions");
  EXPECT_THAT(parts.at("expect").at("enum").get<std::vector<std::string>>(),
              UnorderedElementsAreArray(suite_words("expect")));
  EXPECT_THAT(parts.at("dtype_name").at("enum").get<std::vector<std::string>>(),
              UnorderedElementsAreArray(suite_words("dtype_name")));
  EXPECT_THAT(parts.at("backend_name").at("enum").get<std::vector<std::string>>(),
              UnorderedElementsAreArray(known_backends()));
}

TEST(SuiteReader, RefusesWhatIsOfAWrongForm) {
  const std::vector<std::string> suites = suites_in("wrong_forms.txt");
  EXPECT_GT(suites.size(), 100U);
  for (const std::string& suite : suites) EXPECT_THAT(message_of(suite), HasSubstr("s.toml:")) << suite;
}

TEST(SuiteReader, TakesWhatIsOfTheRightForm) {
  const std::vector<std::string> suites = suites_in("right_forms.txt");
  EXPECT_EQ(suites.size(), 14U);
  for (const std::string& suite : suites) EXPECT_EQ(message_of(suite), "") << suite;
}

}  // namespace
}  // namespace peakmark
