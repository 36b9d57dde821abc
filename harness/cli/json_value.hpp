#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace peakmark::cli {

using Json = nlohmann::ordered_json;

/// What is unknown is null.
template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace peakmark::cli
