#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runfile/observation.hpp"
#include "sweep/choose_shapes.hpp"

namespace peakmark {

/// Chooses the largest shapes of a variant. They are held out: a formula that small shapes suggest must be
/// right there too.
///
/// First each axis alone is long. Then all axes grow together, as far as memory and time allow, predicted
/// from what was recorded before. The last is the largest shape that is wanted, or as much of it as fits.
class LargerShapes {
 public:
  /// What is predicted of a shape stays within these.
  struct Limit {
    Size bytes = 0;      ///< of the peak
    double seconds = 0;  ///< more than the smallest shape takes
  };
  struct Limits {
    Limit grown;
    Limit wanted;
    std::size_t shapes = 0;        ///< at most
    bool takes_few_steps = false;  ///< each shape is slow
  };

  /// `chooser`: has its base. `small`: what was recorded, the base first; not empty. Both must outlive this.
  LargerShapes(ShapeChooser& chooser, const std::vector<Observation>& small, Limits limits,
               std::optional<Parameters> wanted);

  /// Returns shapes to record next; none: there are no more. Call take() with each before the next call.
  std::vector<Parameters> next();
  void take(const Parameters& shape, Observation observation);

  /// Returns what was recorded, the largest peak first.
  [[nodiscard]] std::vector<Observation> recorded() &&;

 private:
  enum class Step : std::uint8_t { long_axes, growing, wanted, done };

  std::vector<Parameters> long_axes();
  std::optional<Parameters> grown();
  std::optional<Parameters> wanted();
  /// Returns how much longer than the smallest shape one takes.
  [[nodiscard]] double work_seconds(const Observation& observation) const;
  /// Returns by which factor a recorded shape may grow if its bytes and time grow with these powers of it.
  [[nodiscard]] double growth(const Observation& from, double bytes_exponent, double seconds_exponent,
                              const Limit& limit) const;

  ShapeChooser& chooser_;
  const std::vector<Observation>& small_;
  Limits limits_;
  std::optional<Parameters> wanted_;
  Step step_ = Step::long_axes;
  double factor_ = 1;         ///< of the last that was recorded
  double next_factor_ = 0;    ///< of the next
  double exponent_ = 1;       ///< of the bytes, as a power of the factor
  bool is_multiple_ = false;  ///< the variant refused other lengths
  bool is_refused_ = false;   ///< the last
  std::optional<Parameters> growing_;
  std::optional<Observation> largest_;  ///< of those that grow
  std::vector<Observation> recorded_;
};

}  // namespace peakmark
