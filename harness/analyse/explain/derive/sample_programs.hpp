#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "analyse/explain/derive/sample_explained_run.hpp"
#include "analyse/explain/search/shapes.hpp"

// Parts of programs in tests: shapes of a stack that is processed by chunks of slices, allocations with an
// independently counted peak, and arrays of several forms.
namespace peakmark {

struct StackShape {
  Size n = 0;
  Size chunk = 0;
  Size ny = 0;
  Size nx = 0;
};
inline constexpr std::array<std::pair<const char*, Size StackShape::*>, 4> kStackAxes{
    {{"n", &StackShape::n}, {"chunk", &StackShape::chunk}, {"ny", &StackShape::ny}, {"nx", &StackShape::nx}}};

inline Shapes as_axes(const std::vector<StackShape>& shapes) {
  Shapes result;
  for (const auto& [name, member] : kStackAxes) {
    result.axes.push_back({name, {}});
    for (const StackShape& shape : shapes) result.axes.back().values.push_back(shape.*member);
  }
  return result;
}

struct Recorded {
  AllocationSequence sequence;
  Size peak = 0;
};

class Program {
 public:
  std::size_t allocate(const std::string& name, const std::string& phase, Size bytes,
                       const std::string& process = "") {
    return recorder_.allocate(name, phase, "", bytes, process);
  }
  void release(std::size_t allocation) { recorder_.release(allocation); }
  [[nodiscard]] Recorded recorded() const { return {recorder_.sequence(), recorder_.peak()}; }

 private:
  SequenceRecorder recorder_;
};

/// An array in one of 8 forms. Form 6 has `element` bytes at every shape.
struct SampleArray {
  Size element = 4;
  std::size_t form = 0;

  [[nodiscard]] Size bytes(const StackShape& shape, Size slices) const {
    Size padded = 1;
    while (padded < 2 * shape.nx) padded *= 2;
    switch (form) {
      case 0:
        return element * slices * shape.ny * shape.nx;
      case 1:
        return element * shape.ny * shape.nx;
      case 2:
        return element * slices * shape.ny * (padded / 2 + 1);
      case 3:
        return element * slices * (shape.ny + 2) * shape.nx;
      case 4:
        return 16 * ((shape.nx + 15) / 16) * element * shape.ny;
      case 5:
        return element * slices * padded;
      case 6:
        return element;
      default:
        return element * shape.nx + 8 * slices;
    }
  }
};

}  // namespace peakmark
