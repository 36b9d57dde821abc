#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "measure/sweep/description.hpp"

namespace peakmark {

/// The values that an integer axis may have. An axis without bounds may have any value from its minimum on.
struct AxisBounds {
  Size min = 0;
  Size max = 0;
};

/// Returns the sets of words for which formulas are found separately: each combination of the words of a
/// variant's word axes, the defaults first. If there are more than 64, returns the defaults, and the defaults
/// with each other word of one axis. An axis without choices, such as one of floating-point numbers, has only
/// its default. A variant without words has one empty set.
std::vector<Parameters> word_sets(const VariantDescription& variant);

/// The number of shapes to record for one set of words: for fitting, and held out.
struct ShapeCounts {
  std::size_t fitted = 0;
  std::size_t held_out = 0;
};
/// Returns the counts for a variant: for one of a worker 24 to 48 shapes, and 8 more for each axis whose
/// default is 0; for a program at most 28. The number grows with the number of integer axes; at least a
/// quarter is held out.
ShapeCounts shape_counts(const VariantDescription& variant, bool is_program);
/// Returns the counts for a total of `shapes`: at least a quarter is held out.
ShapeCounts shape_counts(std::size_t shapes);

/// Returns the number of elements of an array whose extents are the integer axes; an axis of 0 counts as 1.
double element_count(const Parameters& shape);

/// Chooses shapes from which formulas are found: small ones, so that they run quickly, with odd and coprime
/// lengths. Shapes for fitting vary first one axis from a base, then two; then axes whose default is 0 are
/// set to 0, which may mean "all". Held-out shapes vary all axes.
///
/// A variant may refuse a shape (a pad that is larger than the image). Record a shape of bases() that it
/// accepts, and request another shape for each that it refuses. Request held-out shapes after those for
/// fitting were tried, because they use the accepted ones. The same calls return the same shapes, and no
/// shape twice.
class ShapeChooser {
 public:
  /// `words`: a value for each word axis, from word_sets().
  ShapeChooser(const VariantDescription& variant, const Parameters& words,
               const std::map<std::string, AxisBounds>& bounds = {});

  /// Returns for each shape whether the variant accepts it.
  using Accepts = std::function<std::vector<bool>(const std::vector<Parameters>&)>;
  /// Puts a base first in which as many as possible of the axes whose default is 0 are above 0: a region of
  /// an image, not the whole. Does nothing if no such base is found. Calls `accepts` a few times.
  void find_base(const Accepts& accepts);

  /// Makes an axis of the first base longer by one if an axis that is 0 there may only then be 1:
  /// half-acquisition may need an even number of angles. Calls `accepts` at most once.
  void fit_base_to_flags(const Accepts& accepts);

  /// Puts the lengths of this shape first in bases().
  void prefer_base(const Parameters& base);
  /// Returns shapes that may serve as base, the best first. The last one has the axes' defaults.
  [[nodiscard]] const std::vector<Parameters>& bases() const { return bases_; }
  /// Sets the base: a shape that the variant accepts. It counts as chosen.
  void set_base(const Parameters& base);

  /// Notes a shape that the variant accepts.
  void accept(const Parameters& shape);

  /// Returns the next shape for fitting; null if there are no more. Call set_base() before.
  std::optional<Parameters> next_fitted();
  /// Returns the next held-out shape; null if there are no more.
  std::optional<Parameters> next_held_out();

  /// Returns the axes, except flags, that can be longer than in the base, the longest of the base first.
  [[nodiscard]] std::vector<std::string> growing_axes() const;
  /// Returns the base with one axis at this length; null if the axis is bounded, or the shape was chosen
  /// before.
  std::optional<Parameters> lengthened(const std::string& axis, Size length);
  /// Returns a shape in which all axes are multiplied by this factor, or less if their bounds require it: to
  /// odd and even lengths, or to multiples of the base. Null if the shape was chosen before.
  std::optional<Parameters> scaled(double factor, bool is_multiple);

 private:
  struct Axis {
    std::string name;
    Size default_value = 0;
    Size min = 0;
    std::optional<Size> max;
  };
  using Lengths = std::vector<Size>;  // one per axis

  [[nodiscard]] Parameters shape(const Lengths& lengths) const;
  [[nodiscard]] Size within(const Axis& axis, Size length) const;
  std::optional<Parameters> take(const Lengths& lengths);
  [[nodiscard]] Lengths lengths(const Parameters& shape) const;
  [[nodiscard]] Lengths primes(Size first) const;
  /// Returns whether the default of an axis is 0, which may mean "none" or "all".
  [[nodiscard]] bool means_none(std::size_t axis) const;
  [[nodiscard]] bool can_grow(std::size_t axis) const;
  void add_bases();
  void add_candidates();
  void add_longer(const std::vector<std::pair<std::size_t, Size>>& steps);
  void add_pairs();
  void add_zeros();

  Parameters defaults_;
  std::vector<Axis> axes_;
  std::vector<Parameters> bases_;
  Lengths base_;
  std::vector<Lengths> candidates_;  ///< for fitting
  std::size_t next_candidate_ = 0;
  std::map<std::size_t, std::vector<Size>>
      accepted_;  ///< accepted values of each axis, in shapes that differ from the base in one axis
  std::uint64_t random_ = 0;
  Size draws_ = 0;
  std::set<Lengths> taken_;
};

/// Fewer shapes prove nothing: a line fits any two points.
inline constexpr std::size_t kMinExplainedShapes = 6;

/// Returns whether the shape at this place of a list is held out, to test formulas: every fourth is.
constexpr bool is_held_out(std::size_t place) {
  return place % 4 == 3;
}
/// Returns the places of the held-out shapes among `count`; if these are less than a quarter, the last place
/// is added.
std::vector<std::size_t> held_out_places(std::size_t count);

/// Returns both lists in one, with held-out shapes at their places. Both lists keep their order; surplus
/// shapes are omitted.
template <typename Shape>
std::vector<Shape> with_held_out(const std::vector<Shape>& fitted, const std::vector<Shape>& held_out) {
  std::vector<Shape> all;
  std::size_t next_fitted = 0;
  std::size_t next_held_out = 0;
  while (true) {
    const bool is_tested = is_held_out(all.size());
    std::size_t& next = is_tested ? next_held_out : next_fitted;
    const std::vector<Shape>& from = is_tested ? held_out : fitted;
    if (next == from.size()) return all;
    all.push_back(from[next++]);
  }
}

}  // namespace peakmark
