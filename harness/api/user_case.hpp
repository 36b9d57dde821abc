#pragma once

#include <vector>

#include "peakmark/worker_abi.h"
#include "sweep/parameters.hpp"

namespace peakmark {

/// The values of a case as they cross the seam. They point into the parameters, which must outlive it.
class UserCase {
 public:
  explicit UserCase(const Parameters& parameters) {
    for (const auto& [axis, value] : parameters.values()) {
      const auto* word = std::get_if<std::string>(&value);
      values_.push_back({axis.c_str(), word == nullptr ? nullptr : word->c_str(),
                         word == nullptr ? std::get<Size>(value) : 0});
    }
    abi_ = {values_.data(), values_.size()};
  }
  UserCase(const UserCase&) = delete;
  UserCase& operator=(const UserCase&) = delete;

  [[nodiscard]] const peakmark_case* seam() const { return &abi_; }

 private:
  std::vector<peakmark_value> values_;
  peakmark_case abi_{};
};

}  // namespace peakmark
