#include "kernels/padding/padded_template.hpp"

#include "kernels/padding/element_type.hpp"
#include "kernels/padding/reference.hpp"

namespace peakmark {

Array push_padded_template(Device& device, const PaddingProblem& problem) {
  return with_element_type(problem.dtype, [&]<typename T>(T) {
    return device.push<T>(
        "template", problem.image_shape(), Generator<T>([&problem](std::span<T> piece, Size first) {
          const std::vector<Size> columns = source_columns(problem);
          const std::vector<T> image_row(static_cast<std::size_t>(problem.x.extent));
          std::vector<T> padded_row(columns.size());
          const Size width = problem.x.padded();
          for (std::size_t done = 0; done < piece.size();) {
            const Size at = first + static_cast<Size>(done);
            pad_row<T>(problem, at / width, columns, image_row, padded_row);
            const auto count = std::min(piece.size() - done, static_cast<std::size_t>(width - at % width));
            std::copy_n(padded_row.begin() + at % width, count, piece.begin() + static_cast<Size>(done));
            done += count;
          }
        }));
  });
}

}  // namespace peakmark
