#include "kernels/common/variants.hpp"

#include <memory>
#include <stdexcept>

#include "base/error.hpp"
#include "peakmark/worker.hpp"

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

std::vector<const peakmark_variant*> variants_of(void (*add)(Worker&)) {
  static std::vector<std::unique_ptr<Worker>> workers;
  add(*workers.emplace_back(std::make_unique<Worker>()));
  return workers.back()->abi_variants();
}

}  // namespace peakmark
