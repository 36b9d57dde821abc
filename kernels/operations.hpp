#pragma once

namespace peakmark {

class Registry;
inline namespace api_1 {
class Worker;
}

// Each function adds the variants of one operation.
void add_mul_add(Worker& worker);
void add_vertical_shift(Worker& worker);

// Operations that are not yet written against the public API.
void add_backprojection(Registry& registry);
void add_filter(Registry& registry);
void add_fbp(Registry& registry);

/// Adds every variant of every operation that peakmark ships.
void add_operations(Registry& registry);

}  // namespace peakmark
