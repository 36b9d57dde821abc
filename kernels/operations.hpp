#pragma once

namespace peakmark {

class Registry;
inline namespace api_1 {
class Worker;
}

// Each function adds the variants of one operation.
void add_padding(Worker& worker);
void add_mul_add(Worker& worker);
void add_vertical_shift(Worker& worker);
void add_backprojection(Worker& worker);
void add_filter(Worker& worker);
void add_fbp(Worker& worker);

/// Adds every variant of every operation that peakmark ships.
void add_operations(Registry& registry);

}  // namespace peakmark
