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
/// Returns the counts for a variant of a worker, 24 to 50 shapes, or of a program, at most 28: a quarter or
/// more is held out. The more integer axes, the more shapes.
ShapeCounts shape_counts(const VariantDescription& variant, bool is_program);

/// Chooses shapes from which formulas are found: small ones, so that they are quick, with odd and coprime
/// lengths. Shapes for fitting vary one axis at a time from a base, then two; those held out vary all axes.
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
  void add_bases();
  void add_candidates();

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

/// Returns the shapes in one list in which every fourth is held out, as explain() takes them. Both lists keep
/// their order; what one has too many of is left out.
template <typename Shape>
std::vector<Shape> every_fourth_held_out(const std::vector<Shape>& fitted,
                                         const std::vector<Shape>& held_out) {
  std::vector<Shape> all;
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    all.push_back(fitted[i]);
    if (i % 3 == 2 && i / 3 < held_out.size()) all.push_back(held_out[i / 3]);
    if (i % 3 == 2 && i / 3 >= held_out.size()) break;
  }
  return all;
}

}  // namespace peakmark
