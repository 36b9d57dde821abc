#pragma once

// Precompiled for all modules and tests of a build with PEAKMARK_PRECOMPILE: headers that most of them
// include, and templates that are compiled once, in precompiled.cpp, instead of in each module that uses
// them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.hpp"

#define PEAKMARK_COMPILED_ONCE(TEMPLATE)                               \
  TEMPLATE(std::vector<bool>)                                          \
  TEMPLATE(std::vector<char>)                                          \
  TEMPLATE(std::vector<double>)                                        \
  TEMPLATE(std::vector<float>)                                         \
  TEMPLATE(std::vector<int>)                                           \
  TEMPLATE(std::vector<std::int64_t>)                                  \
  TEMPLATE(std::vector<std::pair<std::string, std::string>>)           \
  TEMPLATE(std::vector<std::string>)                                   \
  TEMPLATE(std::vector<std::string_view>)                              \
  TEMPLATE(std::vector<std::uint64_t>)                                 \
  TEMPLATE(std::vector<std::uint8_t>)                                  \
  TEMPLATE(std::map<std::string, std::int64_t>)                        \
  TEMPLATE(std::map<std::string, std::string>)                         \
  TEMPLATE(std::set<std::string>)                                      \
  TEMPLATE(std::optional<double>)                                      \
  TEMPLATE(std::optional<std::int64_t>)                                \
  TEMPLATE(std::optional<std::string>)                                 \
  TEMPLATE(std::vector<nlohmann::ordered_json>)                        \
  TEMPLATE(nlohmann::ordered_map<std::string, nlohmann::ordered_json>) \
  TEMPLATE(nlohmann::basic_json<nlohmann::ordered_map>)                \
  TEMPLATE(nlohmann::detail::serializer<nlohmann::ordered_json>)

#define PEAKMARK_EXTERN_TEMPLATE(...) extern template class __VA_ARGS__;
PEAKMARK_COMPILED_ONCE(PEAKMARK_EXTERN_TEMPLATE)
