#include "kernels/common/variants.hpp"
#include "measure/worker/variant.hpp"
#include "measure/worker/worker_main.hpp"
#include "selftest_variants.hpp"

// A worker whose variants behave in known ways, good and bad: tests of run and check are made with it.
int main(int argc, char** argv) {
  using namespace peakmark;
  Registry registry;
  registry.add_own(variants_of(selftest::add_selftest));
  return peakmark_worker_main(argc, argv, registry);
}
