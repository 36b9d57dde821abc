#include "kernels/operations.hpp"
#include "measure/worker/worker_main.hpp"

int main(int argc, char** argv) {
  peakmark::Registry registry;
  peakmark::add_operations(registry);
  return peakmark::peakmark_worker_main(argc, argv, registry);
}
