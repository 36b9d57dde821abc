#include "base/fingerprint.hpp"

#include <fmt/format.h>

namespace peakmark {

std::string Fingerprint::text() const {
  return fmt::format("{:016x}", hash_);
}

}  // namespace peakmark
