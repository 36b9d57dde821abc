#include "measure/sweep/suite_keys.hpp"

#include <map>

#include "base/json.hpp"
#include "embedded_files.hpp"

namespace peakmark {

namespace {

using Json = nlohmann::ordered_json;

/// Adds the keys of a part of the schema, those of its forms, and its words.
void add_words(const Json& part, std::vector<std::string>& words) {
  if (part.contains("properties"))
    for (const auto& [key, value] : part.at("properties").items()) words.push_back(key);
  for (const Json& form : part.value("oneOf", Json::array())) add_words(form, words);
  for (const Json& word : part.value("enum", Json::array())) words.push_back(word);
}

std::map<std::string, std::vector<std::string>> all_words() {
  const Json schema = Json::parse(suite_schema());
  std::map<std::string, std::vector<std::string>> all;
  const Json& definitions = schema.at("definitions");
  add_words(definitions.at("span"), all["axis"]);
  for (const auto& [name, part] : definitions.items()) add_words(part, all[name]);
  add_words(schema, all["suite"]);
  return all;
}

}  // namespace

std::string_view suite_schema() {
  return embedded::suite_schema_json();
}

const std::vector<std::string>& suite_words(std::string_view name) {
  static const std::map<std::string, std::vector<std::string>> all = all_words();
  return all.at(std::string(name));
}

}  // namespace peakmark
