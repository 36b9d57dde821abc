#include "measure/sweep/choose_shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace peakmark {
namespace {

// Steps that are added to the base's length, one after the other: odd and even, across powers of two, and
// beyond 512, to which allocators round.
constexpr std::array<Size, 24> kSteps{1, 60, 4,  257, -3, 11, 29, 131,  3,  700, 17, -1,
                                      8, 2,  37, 401, 5,  97, 53, 1000, 23, 14,  73, 190};
// After this many steps, two axes are changed at once.
constexpr std::size_t kStepsBeforePairs = 3;
constexpr std::size_t kMaxPairs = 12;
constexpr std::array<Size, 2> kPairSteps{13, 22};
constexpr Size kZeroRounds = 4;
// Further steps, odd and even, for variants that refuse many shapes.
constexpr Size kFurtherSteps = 40;
constexpr Size kFurtherStep = 19;
constexpr int kMaxDraws = 1000;
constexpr Size kMaxFactor = 3;  // for every axis: a volume grows by 27
constexpr Size kMaxMoreJitter = 16;
constexpr std::size_t kMinFreeLengths = 3;
constexpr double kMaxScaled = 1e15;
constexpr std::size_t kMaxWordSets = 64;

std::vector<Size> primes_from(Size first, std::size_t count) {
  std::vector<Size> primes;
  for (Size n = first; primes.size() < count; ++n) {
    bool is_prime = n > 1;
    for (Size d = 2; d * d <= n; ++d) is_prime = is_prime && n % d != 0;
    if (is_prime) primes.push_back(n);
  }
  return primes;
}

std::size_t integer_axes(const VariantDescription& variant) {
  return static_cast<std::size_t>(std::ranges::count_if(variant.axes, [](const AxisDescription& axis) {
    return std::holds_alternative<Size>(axis.default_value);
  }));
}

}  // namespace

std::vector<Parameters> word_sets(const VariantDescription& variant) {
  std::vector<Parameters::Values> sets{{}};
  for (const AxisDescription& axis : variant.axes) {
    if (std::holds_alternative<Size>(axis.default_value)) continue;
    std::vector<AxisValue> words{axis.default_value};
    for (const std::string& choice : axis.choices) {
      if (AxisValue(choice) != axis.default_value) words.emplace_back(choice);
    }
    std::vector<Parameters::Values> longer;
    for (const AxisValue& one : words) {
      for (Parameters::Values set : sets) {
        set.emplace_back(axis.name, one);
        longer.push_back(std::move(set));
      }
    }
    sets = std::move(longer);
  }
  std::vector<Parameters> result;
  if (sets.size() <= kMaxWordSets) {
    for (Parameters::Values& set : sets) result.emplace_back(std::move(set));
    return result;
  }
  result.emplace_back(sets.front());
  for (const AxisDescription& axis : variant.axes) {
    for (const std::string& choice : axis.choices) {
      Parameters one = result.front();
      if (one.word(axis.name) == choice) continue;
      one.set(axis.name, choice);
      result.push_back(std::move(one));
    }
  }
  return result;
}

ShapeCounts shape_counts(const VariantDescription& variant, bool is_program) {
  const std::size_t axes = integer_axes(variant);
  const auto with_zero = static_cast<std::size_t>(std::ranges::count_if(
      variant.axes, [](const AxisDescription& axis) { return axis.default_value == AxisValue(Size{0}); }));
  const std::size_t wanted = 12 + 6 * axes + 4 * with_zero;
  const std::size_t blocks = is_program ? std::min<std::size_t>(wanted / 4 + 1, 7)
                                        : std::clamp<std::size_t>(wanted / 4 + 1, 6, 12 + 2 * with_zero);
  return {3 * blocks, blocks};
}

double element_count(const Parameters& shape) {
  double count = 1;
  for (const auto& [axis, value] : shape.values()) {
    if (const Size* const extent = std::get_if<Size>(&value))
      count *= static_cast<double>(std::max<Size>(*extent, 1));
  }
  return count;
}

ShapeCounts shape_counts(std::size_t shapes) {
  const std::size_t held_out = (shapes + 3) / 4;
  return {shapes - held_out, held_out};
}

std::vector<std::size_t> held_out_places(std::size_t count) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < count; ++place) {
    if (is_held_out(place)) places.push_back(place);
  }
  if (places.size() * 4 < count && count > 1) places.push_back(count - 1);
  return places;
}

ShapeChooser::ShapeChooser(const VariantDescription& variant, const Parameters& words,
                           const std::map<std::string, AxisBounds>& bounds)
    : defaults_(variant.defaults()) {
  for (const auto& [name, word] : words.values()) defaults_.set(name, word);
  for (const AxisDescription& axis : variant.axes) {
    const Size* const length = std::get_if<Size>(&axis.default_value);
    if (length == nullptr) continue;
    Axis one{axis.name, *length, axis.min, std::nullopt};
    if (const auto bound = bounds.find(axis.name); bound != bounds.end()) {
      one.min = std::max(one.min, bound->second.min);
      one.max = std::max(one.min, bound->second.max);
    }
    axes_.push_back(std::move(one));
  }
  add_bases();
}

Parameters ShapeChooser::shape(const Lengths& lengths) const {
  Parameters parameters = defaults_;
  for (std::size_t i = 0; i < axes_.size(); ++i) parameters.set(axes_[i].name, lengths[i]);
  return parameters;
}

Size ShapeChooser::within(const Axis& axis, Size length) const {
  length = std::max(length, axis.min);
  return axis.max ? std::min(length, *axis.max) : length;
}

ShapeChooser::Lengths ShapeChooser::lengths(const Parameters& shape) const {
  Lengths lengths;
  for (const Axis& axis : axes_) lengths.push_back(shape.integer(axis.name));
  return lengths;
}

/// Returns small primes in the order of the defaults, so that pads stay smaller than images.
ShapeChooser::Lengths ShapeChooser::primes(Size first) const {
  std::vector<std::size_t> order(axes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [this](std::size_t i) { return axes_[i].default_value; });
  const std::vector<Size> primes = primes_from(first, axes_.size());
  Lengths lengths(axes_.size());
  for (std::size_t place = 0; place < order.size(); ++place)
    lengths[order[place]] = within(axes_[order[place]], primes[place]);
  return lengths;
}

void ShapeChooser::add_bases() {
  const auto add = [this](const Lengths& lengths) {
    Parameters one = shape(lengths);
    if (std::ranges::find(bases_, one) == bases_.end()) bases_.push_back(std::move(one));
  };
  for (const Size first : {5, 2}) add(primes(first));
  // The defaults, divided so that the largest is small; then the defaults themselves.
  Size largest = 1;
  for (const Axis& axis : axes_) largest = std::max(largest, axis.default_value);
  for (const Size divisor : {std::max<Size>(1, largest / 48), std::max<Size>(1, largest / 128), Size{1}}) {
    Lengths lengths;
    for (const Axis& axis : axes_) lengths.push_back(within(axis, axis.default_value / divisor));
    add(lengths);
  }
}

void ShapeChooser::find_base(const Accepts& accepts) {
  const Lengths wanted = primes(5);
  Lengths base = wanted;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].default_value == 0) base[a] = within(axes_[a], 0);
  }
  if (!accepts({shape(base)}).front()) return;
  // In two passes, because the offset of a region can be above 0 only if the region is smaller than the
  // image.
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<std::size_t> axes;
    std::vector<Parameters> shapes;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (base[a] == wanted[a]) continue;
      Lengths one = base;
      one[a] = wanted[a];
      axes.push_back(a);
      shapes.push_back(shape(one));
    }
    if (axes.empty()) break;
    const std::vector<bool> is_accepted = accepts(shapes);
    Lengths all = base;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (is_accepted[i]) all[axes[i]] = wanted[axes[i]];
    }
    if (all == base) break;
    if (accepts({shape(all)}).front()) {
      base = all;
      continue;
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Lengths one = base;
      one[axes[i]] = wanted[axes[i]];
      if (is_accepted[i] && accepts({shape(one)}).front()) base = one;
    }
  }
  prefer_base(shape(base));
}

void ShapeChooser::fit_base_to_flags(const Accepts& accepts) {
  const Lengths base = lengths(bases_.front());
  std::vector<Lengths> bases{base};
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (means_none(a)) continue;
    bases.push_back(base);
    bases.back()[a] = within(axes_[a], base[a] + 1);
  }
  std::vector<Parameters> shapes;  // for each flag, one for each base
  for (std::size_t flag = 0; flag < axes_.size(); ++flag) {
    if (!means_none(flag) || base[flag] != 0) continue;
    for (Lengths one : bases) {
      one[flag] = within(axes_[flag], 1);
      shapes.push_back(shape(one));
    }
  }
  if (shapes.empty()) return;
  const std::vector<bool> is_accepted = accepts(shapes);
  for (std::size_t first = 0; first < shapes.size(); first += bases.size()) {
    if (is_accepted[first]) continue;
    for (std::size_t i = 1; i < bases.size(); ++i) {
      if (is_accepted[first + i]) return prefer_base(shape(bases[i]));
    }
  }
}

bool ShapeChooser::means_none(std::size_t axis) const {
  return axes_[axis].default_value == 0 && axes_[axis].min == 0;
}

// Returns whether an axis can be longer than in the base. An axis that is 0 there is a flag, which accepts
// few values.
bool ShapeChooser::can_grow(std::size_t axis) const {
  const bool is_flag = base_[axis] == 0 && means_none(axis);
  return !is_flag && (!axes_[axis].max || base_[axis] < *axes_[axis].max);
}

void ShapeChooser::prefer_base(const Parameters& base) {
  Parameters preferred = shape(lengths(base));
  std::erase(bases_, preferred);
  bases_.insert(bases_.begin(), std::move(preferred));
}

void ShapeChooser::accept(const Parameters& accepted) {
  const Lengths one = lengths(accepted);
  std::optional<std::size_t> changed;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (one[a] == base_[a]) continue;
    if (changed) return;
    changed = a;
  }
  if (changed) accepted_[*changed].push_back(one[*changed]);
}

void ShapeChooser::set_base(const Parameters& base) {
  base_ = lengths(base);
  taken_.insert(base_);
  candidates_.clear();
  next_candidate_ = 0;
  add_candidates();
}

void ShapeChooser::add_candidates() {
  for (std::size_t step = 0; step < kSteps.size(); ++step) {
    if (step == kStepsBeforePairs) {
      add_pairs();
      add_zeros();
    }
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      // A flag accepts few values.
      if (base_[a] != 0 || !means_none(a) || step < kStepsBeforePairs) add_longer({{a, kSteps[step]}});
    }
  }
  for (Size step = 1; step <= kFurtherSteps; ++step) {
    for (std::size_t a = 0; a < axes_.size(); ++a) add_longer({{a, kFurtherStep * step}});
  }
}

void ShapeChooser::add_longer(const std::vector<std::pair<std::size_t, Size>>& steps) {
  Lengths lengths = base_;
  for (const auto& [axis, step] : steps) lengths[axis] = within(axes_[axis], lengths[axis] + step);
  candidates_.push_back(std::move(lengths));
}

// Adds neighbouring axes first, so that each axis is in a pair early.
void ShapeChooser::add_pairs() {
  std::size_t pairs = 0;
  for (std::size_t apart = 1; apart < axes_.size(); ++apart) {
    for (std::size_t a = 0; a + apart < axes_.size() && pairs < std::max(kMaxPairs, axes_.size());
         ++a, ++pairs) {
      const std::size_t b = a + apart;
      const auto step = [&](std::size_t axis, Size longer) { return base_[axis] == 0 ? Size{1} : longer; };
      add_longer({{a, step(a, kPairSteps[0])}, {b, step(b, kPairSteps[1])}});
    }
  }
}

// For each axis that is not 0 in the base, and for all of them together, adds shapes in which they are 0:
// first with the other lengths of the base, then with changed ones.
void ShapeChooser::add_zeros() {
  std::vector<std::vector<std::size_t>> sets;
  std::vector<std::size_t> all;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (!means_none(a) || base_[a] == 0) continue;
    sets.push_back({a});
    all.push_back(a);
  }
  if (all.size() > 1) sets.push_back(all);
  for (Size round = 0; round < kZeroRounds; ++round) {
    for (const std::vector<std::size_t>& zeros : sets) {
      Lengths lengths = base_;
      for (std::size_t a = 0; a < axes_.size(); ++a) {
        // Even steps, because a base with an even length may need them.
        if (!means_none(a))
          lengths[a] = within(axes_[a], lengths[a] + round * (8 + 2 * static_cast<Size>(a)));
      }
      for (const std::size_t a : zeros) lengths[a] = 0;
      candidates_.push_back(std::move(lengths));
    }
  }
}

std::optional<Parameters> ShapeChooser::take(const Lengths& lengths) {
  if (!taken_.insert(lengths).second) return std::nullopt;
  return shape(lengths);
}

std::optional<Parameters> ShapeChooser::next_fitted() {
  while (next_candidate_ < candidates_.size()) {
    if (auto one = take(candidates_[next_candidate_++])) return one;
  }
  return std::nullopt;
}

std::optional<Parameters> ShapeChooser::next_held_out() {
  if (base_.empty()) return std::nullopt;
  // xorshift64* gives the same numbers on every platform, unlike the distributions of <random>.
  const auto draw = [this](Size count) {
    random_ ^= random_ >> 12U;
    random_ ^= random_ << 25U;
    random_ ^= random_ >> 27U;
    return static_cast<Size>((random_ * 0x2545F4914F6CDD1DU >> 33U) % static_cast<std::uint64_t>(count));
  };
  if (random_ == 0) random_ = 0x9E3779B97F4A7C15U;
  for (int i = 0; i < kMaxDraws; ++i) {
    // All axes grow by one common factor, and slightly on their own, so that most constraints between axes
    // are preserved. The range grows with the draws, so that a short axis has enough values. 0 is often a
    // flag, or `all`: such an axis only gets values that were accepted.
    const Size factor = 1 + draw(kMaxFactor);
    const Size more = std::min<Size>(draws_ / 8, kMaxMoreJitter);
    Lengths lengths;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const auto known = accepted_.find(a);
      Size length = 0;
      const bool is_none = base_[a] != 0 && means_none(a) && draw(4) == 0;
      if (!is_none && base_[a] != 0) {
        // If few lengths were accepted, the length may have to be a multiple of something, as the base is.
        const bool is_free =
            accepted_.empty() || (known != accepted_.end() && known->second.size() >= kMinFreeLengths);
        const Size jitter = draw(base_[a] / 4 + 2 + more);
        length = within(axes_[a], base_[a] * (is_free ? factor : 1 + draw(5)) + (is_free ? jitter : 0));
      } else if (!is_none && known != accepted_.end() && draw(2) == 0) {
        length = known->second[static_cast<std::size_t>(draw(static_cast<Size>(known->second.size())))];
      }
      lengths.push_back(length);
    }
    ++draws_;
    if (auto one = take(lengths)) return one;
  }
  return std::nullopt;
}

std::vector<std::string> ShapeChooser::growing_axes() const {
  std::vector<std::size_t> growing;
  for (std::size_t a = 0; a < base_.size(); ++a) {
    if (can_grow(a)) growing.push_back(a);
  }
  std::ranges::stable_sort(growing, std::greater{}, [this](std::size_t a) { return base_[a]; });
  std::vector<std::string> names;
  names.reserve(growing.size());
  for (const std::size_t a : growing) names.push_back(axes_[a].name);
  return names;
}

std::optional<Parameters> ShapeChooser::lengthened(const std::string& axis, Size length) {
  Lengths longer = base_;
  for (std::size_t a = 0; a < base_.size(); ++a) {
    if (axes_[a].name == axis && can_grow(a)) longer[a] = within(axes_[a], length);
  }
  return take(longer);
}

std::optional<Parameters> ShapeChooser::scaled(double factor, bool is_multiple) {
  Lengths longer = base_;
  for (std::size_t a = 0; a < base_.size(); ++a) {
    if (!can_grow(a)) continue;
    const double length =
        is_multiple ? static_cast<double>(base_[a]) * std::floor(factor)
                    : std::floor(static_cast<double>(base_[a]) * factor) + static_cast<double>(1 + 2 * a);
    longer[a] = within(axes_[a], static_cast<Size>(std::min(length, kMaxScaled)));
  }
  return take(longer);
}

}  // namespace peakmark
