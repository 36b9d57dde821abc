#include "device/device.hpp"

namespace peakmark::testing_variants {

// CMake compiles this file for each backend: see peakmark_device_test.
extern const Backend kTestedBackend;
const Backend kTestedBackend = Backend::PEAKMARK_TESTED_BACKEND;

}  // namespace peakmark::testing_variants
