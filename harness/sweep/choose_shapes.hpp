#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "sweep/description.hpp"

namespace peakmark {

/// The values that an integer axis may take. Axes without bounds take any from their minimum on.
struct AxisBounds {
  Size min = 0;
  Size max = 0;
};

/// Returns the sets of words for each of which formulas are found: each combination of the words of a
/// variant's word axes, the defaults first; where these are more than 64, the defaults with each other word
/// of one axis. An axis without choices has its default only. One empty set for a variant without words.
std::vector<Parameters> word_sets(const VariantDescription& variant);

/// How many shapes are recorded of one set of words: for fitting, and held out.
struct ShapeCounts {
  std::size_t fitted = 0;
  std::size_t held_out = 0;
};
/// Returns the counts for a variant of a worker, 24 to 48 shapes and 8 for each axis whose default is 0, or
/// of a program, at most 28: a quarter or more is held out. The more integer axes, the more shapes.
ShapeCounts shape_counts(const VariantDescription& variant, bool is_program);
/// Returns the counts for so many shapes: a quarter or more is held out.
ShapeCounts shape_counts(std::size_t shapes);

/// Returns the elements of an array whose extents are the integer axes; an axis of 0 counts as 1.
double element_count(const Parameters& shape);

/// Chooses shapes from which formulas are found: small ones, so that they are quick, with odd and coprime
/// lengths. Shapes for fitting vary one axis at a time from a base, then two, then axes are 0 whose default
/// is 0: it may mean "all". Those held out vary all axes.
///
/// A variant may refuse a shape (a pad that is larger than the image). Record a shape of bases() that it
/// accepts, and ask for another shape in place of each that it refuses. Ask for shapes to be held out when
/// those for fitting were tried: they use what was accepted. The same calls return the same shapes, and no
/// shape twice.
class ShapeChooser {
 public:
  /// `words`: a value for each word axis, of word_sets().
  ShapeChooser(const VariantDescription& variant, const Parameters& words,
               const std::map<std::string, AxisBounds>& bounds = {});

  /// Returns which of the shapes the variant accepts.
  using Accepts = std::function<std::vector<bool>(const std::vector<Parameters>&)>;
  /// Puts a base in front in which as many as possible of the axes whose default is 0 are above it: a region
  /// of an image, not the whole. Does nothing if no such base is found. `accepts` is called a few times.
  void find_base(const Accepts& accepts);

  /// Makes an axis of the first base one longer if only then an axis that is 0 there may be 1:
  /// half-acquisition may need an even number of angles. `accepts` is called at most once.
  void fit_base_to_flags(const Accepts& accepts);

  /// Puts the lengths of this shape in front of bases().
  void prefer_base(const Parameters& base);
  /// Returns shapes from which the others may vary, the best first: the last are the axes' defaults.
  [[nodiscard]] const std::vector<Parameters>& bases() const { return bases_; }
  /// Sets the base: a shape that the variant accepts. It counts as chosen.
  void set_base(const Parameters& base);

  /// Notes a shape that the variant accepts.
  void accept(const Parameters& shape);

  /// Returns the next shape for fitting, or nothing: there are no more. Call set_base() before.
  std::optional<Parameters> next_fitted();
  /// Returns the next shape to be held out, or nothing.
  std::optional<Parameters> next_held_out();

  /// Returns the axes that can be longer than in the base, without flags: the longest of the base first.
  [[nodiscard]] std::vector<std::string> growing_axes() const;
  /// Returns the base with one axis at this length; nothing if the axis is bounded, or the shape was chosen.
  std::optional<Parameters> lengthened(const std::string& axis, Size length);
  /// Returns a shape in which all axes grow by this factor, or by as much as their bounds allow: to odd and
  /// even lengths, or to multiples of the base. Nothing if the shape was chosen.
  std::optional<Parameters> scaled(double factor, bool is_multiple);

 private:
  struct Axis {
    std::string name;
    Size default_value = 0;
    Size min = 0;
    std::optional<Size> max;
  };
  using Lengths = std::vector<Size>;  // one an axis

  [[nodiscard]] Parameters shape(const Lengths& lengths) const;
  [[nodiscard]] Size within(const Axis& axis, Size length) const;
  std::optional<Parameters> take(const Lengths& lengths);
  [[nodiscard]] Lengths lengths(const Parameters& shape) const;
  [[nodiscard]] Lengths primes(Size first) const;
  /// Returns whether 0 is the default of an axis: it may mean "none" or "all".
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
      accepted_;  ///< of axes, in shapes that differ in one from the base
  std::uint64_t random_ = 0;
  Size draws_ = 0;
  std::set<Lengths> taken_;
};

/// Fewer shapes than this say too little: a line through two points is no proof.
inline constexpr std::size_t kMinExplainedShapes = 6;

/// Returns whether formulas are tested with the shape at this place of a list, never fitted: every fourth is
/// held out.
constexpr bool is_held_out(std::size_t place) {
  return place % 4 == 3;
}
/// Returns the places of the shapes that are held out of `count`; and the last, if these are less than a
/// quarter.
std::vector<std::size_t> held_out_places(std::size_t count);

/// Returns the shapes in one list in which those to be held out are at their places. Both lists keep their
/// order; what one has too many of is left out.
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
