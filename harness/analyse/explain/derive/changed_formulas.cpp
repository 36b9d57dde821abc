#include "analyse/explain/derive/changed_formulas.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace peakmark {
namespace {

using Allocations = ChangedVariant::Allocations;

// Returns the formula of the bytes of each; null if one has none.
std::optional<std::vector<Expression>> all_bytes(const std::vector<const ExplainedAllocation*>& allocations) {
  std::vector<Expression> all;
  for (const ExplainedAllocation* const one : allocations) {
    const auto bytes = one->all_bytes();
    if (!bytes) return std::nullopt;
    all.push_back(*bytes);
  }
  return all;
}

std::vector<Allocations> changed_allocations(const VariantFormulas& base, const VariantFormulas& next) {
  std::vector<Allocations> all;
  const auto find = [&](const ExplainedAllocation& one) -> Allocations& {
    const auto known = std::ranges::find_if(
        all, [&](const Allocations& other) { return other.name == one.name && other.phase == one.phase; });
    return known != all.end() ? *known : all.emplace_back(Allocations{one.name, one.phase, {}, {}});
  };
  for (const ExplainedAllocation& one : base.explanation.allocations) find(one).base.push_back(&one);
  for (const ExplainedAllocation& one : next.explanation.allocations) find(one).next.push_back(&one);
  std::erase_if(all, [](const Allocations& one) {
    return one.base.size() == one.next.size() && all_bytes(one.base) == all_bytes(one.next);
  });
  return all;
}

ChangedVariant compare(const VariantFormulas& base, const VariantFormulas& next) {
  return {
      &base, &next, {}, changed_allocations(base, next), base.explanation.peak() != next.explanation.peak()};
}

using Key = std::tuple<std::string, std::string, std::string>;
Key key(const RecordedCases& cases) {
  return {cases.variant, cases.backend, words_text(cases.words)};
}

std::map<Key, const VariantFormulas*> by_case(const std::vector<VariantFormulas>& variants) {
  std::map<Key, const VariantFormulas*> found;
  for (const VariantFormulas& variant : variants) {
    for (const RecordedCases& cases : variant.cases) found[key(cases)] = &variant;
  }
  return found;
}

// Returns whether both have the same words. `dtype` is ignored, because it may be a factor of formulas.
bool has_same_words(const Parameters& one, const Parameters& other) {
  return std::ranges::all_of(choice_axes(one).values(), [&](const auto& axis) {
    const AxisValue* const value = other.find(axis.first);
    return axis.first == "dtype" || (value != nullptr && *value == axis.second);
  });
}

const VariantFormulas* find_formulas(const std::vector<VariantFormulas>& variants, const Parameters& axes) {
  for (const VariantFormulas& variant : variants) {
    if (!variant.explanation.has_enough_shapes()) continue;
    for (const RecordedCases& cases : variant.cases) {
      if (has_same_words(cases.observations.front()->axes, axes)) return &variant;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<ChangedVariant> changed_formulas(const std::vector<VariantFormulas>& base,
                                             const std::vector<VariantFormulas>& next) {
  const auto before = by_case(base);
  const auto after = by_case(next);
  std::vector<ChangedVariant> all;
  for (const VariantFormulas& variant : next) {
    // Words that are merged in one run may be separate in the other.
    std::map<const VariantFormulas*, std::size_t> partners;
    for (const RecordedCases& cases : variant.cases) {
      const auto same = before.find(key(cases));
      ++partners[same == before.end() ? nullptr : same->second];
    }
    const bool is_one = partners.size() == 1;
    for (const RecordedCases& cases : variant.cases) {
      const auto same = before.find(key(cases));
      ChangedVariant changed = same == before.end() ? ChangedVariant{nullptr, &variant, {}, {}, false}
                                                    : compare(*same->second, variant);
      changed.words = is_one ? variant.words : cases.words;
      const bool differs = !changed.is_in_both() || changed.is_peak_changed || !changed.allocations.empty();
      if (differs) all.push_back(std::move(changed));
      if (is_one) break;
    }
  }
  for (const VariantFormulas& variant : base) {
    for (const RecordedCases& cases : variant.cases) {
      if (!after.contains(key(cases))) all.push_back({&variant, nullptr, cases.words, {}, false});
    }
  }
  return all;
}

std::vector<Allocations> changed_allocations(const std::vector<VariantFormulas>& base,
                                             const std::vector<VariantFormulas>& next,
                                             const Parameters& axes) {
  const VariantFormulas* const before = find_formulas(base, axes);
  const VariantFormulas* const after = find_formulas(next, axes);
  if (before == nullptr || after == nullptr) return {};
  return changed_allocations(*before, *after);
}

}  // namespace peakmark
