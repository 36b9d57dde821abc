#include "kernels/padding/reference.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

namespace peakmark {
namespace {

struct Vector {
  PaddingProblem problem;
  std::vector<Size> padded;
};

std::vector<Size> numbers(const std::string& line) {
  std::istringstream text(line);
  std::vector<Size> result;
  for (Size number = 0; text >> number;) result.push_back(number);
  return result;
}

/// As make_vectors.py writes them.
std::vector<Vector> numpy_vectors() {
  std::ifstream file(PADDING_VECTORS);
  std::vector<Vector> vectors;
  std::string head, coordinates, padded;
  while (std::getline(file, head) && std::getline(file, coordinates) && std::getline(file, padded)) {
    Vector vector;
    std::istringstream text(head);
    std::string mode;
    PaddingProblem& problem = vector.problem;
    text >> mode >> problem.n >> problem.y.extent >> problem.x.extent >> problem.y.before >>
        problem.y.after >> problem.x.before >> problem.x.after;
    problem.mode = parse_padding_mode(mode);
    problem.dtype = DType::i64;
    if (problem.mode == PaddingMode::custom) {
      const std::vector<Size> both = numbers(coordinates);
      problem.rows.assign(both.begin(), both.begin() + problem.y.padded());
      problem.columns.assign(both.begin() + problem.y.padded(), both.end());
    }
    check(problem);
    vector.padded = numbers(padded);
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

TEST(PaddingReference, IsNumpysPadInEveryMode) {
  const std::vector<Vector> vectors = numpy_vectors();
  ASSERT_EQ(vectors.size(), 60u);
  for (const Vector& vector : vectors) {
    std::vector<Size> stack(static_cast<std::size_t>(vector.problem.input_shape().elements()));
    std::iota(stack.begin(), stack.end(), 100);
    EXPECT_EQ(pad<Size>(vector.problem, stack), vector.padded)
        << to_string(vector.problem.mode) << " of " << vector.problem.input_shape().text() << " to "
        << vector.problem.output_shape().text();
  }
}

}  // namespace
}  // namespace peakmark
