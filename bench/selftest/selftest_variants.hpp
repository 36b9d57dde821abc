#pragma once

namespace peakmark {
inline namespace api_1 {
class Worker;
}
}  // namespace peakmark

namespace peakmark::selftest {

/// Adds selftest/known_bytes.
void add_known_bytes(Worker& worker);
/// Adds all variants.
void add_selftest(Worker& worker);

}  // namespace peakmark::selftest
