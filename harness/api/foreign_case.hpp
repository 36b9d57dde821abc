#pragma once

#include <vector>

#include "peakmark/worker_seam.h"
#include "sweep/parameters.hpp"

namespace peakmark {

/// The values of a case as they cross the seam. They point into the parameters, which must outlive it.
class ForeignCase {
 public:
  explicit ForeignCase(const Parameters& parameters) {
    for (const auto& [axis, value] : parameters.values()) {
      const auto* word = std::get_if<std::string>(&value);
      values_.push_back({axis.c_str(), word == nullptr ? nullptr : word->c_str(),
                         word == nullptr ? std::get<Size>(value) : 0});
    }
    seam_ = {values_.data(), values_.size()};
  }
  ForeignCase(const ForeignCase&) = delete;
  ForeignCase& operator=(const ForeignCase&) = delete;

  [[nodiscard]] const peakmark_case* seam() const { return &seam_; }

 private:
  std::vector<peakmark_value> values_;
  peakmark_case seam_{};
};

}  // namespace peakmark
