#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/runfile/observation.hpp"
#include "measure/sweep/choose_shapes.hpp"

namespace peakmark {

/// Chooses the largest shapes of a variant. They are held out: a formula that is found from small shapes must
/// also be correct for them.
///
/// First each axis alone is long. Then all axes grow together, as far as memory and time allow; both are
/// predicted from earlier recordings. The last shape is the requested largest one, or the largest part of it
/// that fits.
class LargerShapes {
 public:
  /// Upper limits of the predictions for a shape.
  struct Limit {
    Size bytes = 0;      ///< of the peak
    double seconds = 0;  ///< in addition to the time of the smallest shape
  };
  struct Limits {
    Limit grown;
    Limit wanted;
    std::size_t shapes = 0;        ///< maximum number
    bool takes_few_steps = false;  ///< each shape is slow
  };

  /// `chooser`: has its base. `small`: the recorded small shapes, the base first; not empty. Both must
  /// outlive this object.
  LargerShapes(ShapeChooser& chooser, const std::vector<Observation>& small, Limits limits,
               std::optional<Parameters> wanted);

  /// Returns the shapes to record next; empty if there are no more. Call take() with each before the next
  /// call.
  std::vector<Parameters> next();
  void take(const Parameters& shape, Observation observation);

  /// Returns the recorded shapes, the largest peak first.
  [[nodiscard]] std::vector<Observation> recorded() &&;

 private:
  enum class Step : std::uint8_t { long_axes, growing, wanted, done };

  std::vector<Parameters> long_axes();
  std::optional<Parameters> grown();
  std::optional<Parameters> wanted();
  /// Returns how much longer than the smallest shape an observation took.
  [[nodiscard]] double work_seconds(const Observation& observation) const;
  /// Returns the factor by which a recorded shape may grow, if its bytes and time grow with these powers of
  /// the factor.
  [[nodiscard]] double growth(const Observation& from, double bytes_exponent, double seconds_exponent,
                              const Limit& limit) const;

  ShapeChooser& chooser_;
  const std::vector<Observation>& small_;
  Limits limits_;
  std::optional<Parameters> wanted_;
  Step step_ = Step::long_axes;
  double factor_ = 1;         ///< of the last recorded shape
  double next_factor_ = 0;    ///< of the next shape
  double exponent_ = 1;       ///< of the bytes, as a power of the factor
  bool is_multiple_ = false;  ///< the variant refused other lengths
  bool is_refused_ = false;   ///< the last shape was refused
  std::optional<Parameters> growing_;
  std::optional<Observation> largest_;  ///< of the growing shapes
  std::vector<Observation> recorded_;
};

}  // namespace peakmark
