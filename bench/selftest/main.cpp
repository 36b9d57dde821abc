#include "selftest_computation.hpp"
#include "worker/worker_main.hpp"

// A worker whose variants behave in known ways, good and bad: tests of run and check are made with it.
int main(int argc, char** argv) {
  using namespace peakmark;
  Registry registry;
  registry.add(selftest::selftest_variant("selftest/known_bytes", "42,000 bytes at n = 20"));
  registry.add(selftest::selftest_variant("selftest/estimate_high", "its estimator is 30 % too high", 130));
  registry.add(selftest::selftest_variant("selftest/estimate_low", "its estimator is 5 % too low", 95));
  selftest::add_misbehaving(registry);
  selftest::add_raw_allocation(registry);
  selftest::add_loops(registry);
  return peakmark_worker_main(argc, argv, registry);
}
