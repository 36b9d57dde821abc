#include "kernels/common/api_errors.hpp"

#include <stdexcept>

#include "base/error.hpp"

namespace peakmark {

void throw_api_error() {
  try {
    throw;
  } catch (const OverflowError& error) {
    throw std::overflow_error(error.what());
  } catch (const UsageError& error) {
    throw std::invalid_argument(error.what());
  }
}

std::string usage_error(const std::function<void()>& check) {
  try {
    check();
  } catch (const OverflowError& error) {
    throw std::overflow_error(error.what());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace peakmark
