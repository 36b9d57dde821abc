#include "kernels/common/worker_variants.hpp"

#include <memory>

#include "peakmark/worker.hpp"

namespace peakmark {

std::vector<const peakmark_variant*> variants_of(void (*add)(Worker&)) {
  static std::vector<std::unique_ptr<Worker>> workers;
  add(*workers.emplace_back(std::make_unique<Worker>()));
  return workers.back()->abi_variants();
}

}  // namespace peakmark
