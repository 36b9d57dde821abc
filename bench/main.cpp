#include "kernels/mul_add/mul_add.hpp"
#include "kernels/padding/padding.hpp"
#include "kernels/vertical_shift/vertical_shift.hpp"
#include "worker/worker_main.hpp"

int main(int argc, char** argv) {
  peakmark::Registry registry;
  peakmark::add_padding(registry);
  peakmark::add_mul_add(registry);
  peakmark::add_vertical_shift(registry);
  return peakmark::peakmark_worker_main(argc, argv, registry);
}
