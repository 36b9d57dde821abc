#include "explain/run_formulas.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace peakmark {
namespace {

constexpr const char* kDTypeAxis = "dtype";
constexpr const char* kItemSizeAxis = "itemsize";

bool has_values(const Observation& observation, const FixedAxes& fixed) {
  return std::ranges::all_of(fixed, [&](const auto& one) {
    const AxisValue* const value = observation.axes.find(one.first);
    return value != nullptr && *value == one.second;
  });
}

// Variants with cases of several dtypes: `dtype` is a factor of their formulas, not a word.
std::set<std::string> variants_with_several_dtypes(const std::vector<const Observation*>& observations) {
  std::map<std::string, std::set<std::string>> dtypes;
  for (const Observation* const observation : observations) {
    const AxisValue* const dtype = observation->axes.find(kDTypeAxis);
    if (dtype != nullptr && std::holds_alternative<std::string>(*dtype))
      dtypes[observation->variant].insert(std::get<std::string>(*dtype));
  }
  std::set<std::string> variants;
  for (const auto& [variant, names] : dtypes) {
    if (names.size() > 1) variants.insert(variant);
  }
  return variants;
}

struct SplitAxes {
  std::vector<std::pair<std::string, std::string>> words;
  std::vector<std::pair<std::string, Size>> integers;
};

SplitAxes split_axes(const Parameters& axes, bool dtype_is_factor) {
  SplitAxes split;
  for (const auto& [axis, value] : axes.values()) {
    if (const Size* const integer = std::get_if<Size>(&value)) {
      split.integers.emplace_back(axis, *integer);
    } else if (axis == kDTypeAxis && dtype_is_factor) {
      split.integers.emplace_back(kItemSizeAxis, size_of(parse_dtype(std::get<std::string>(value))));
    } else {
      split.words.emplace_back(axis, std::get<std::string>(value));
    }
  }
  return split;
}

void add_shape(RecordedCases& cases, const std::vector<std::pair<std::string, Size>>& integers,
               const Observation& observation) {
  if (cases.shapes.axes.empty()) {
    for (const auto& [axis, value] : integers) cases.shapes.axes.push_back({axis, {}});
  }
  // A shape that was recorded before says nothing new, unless its allocations differ.
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    bool is_same = true;
    for (std::size_t axis = 0; axis < integers.size(); ++axis)
      is_same = is_same && cases.shapes.axes[axis].values[shape] == integers[axis].second;
    if (!is_same) continue;
    if (const Size peak = peak_bytes(*observation.allocation_sequence); peak != cases.peaks[shape])
      cases.notes.push_back(
          fmt::format("{}: recorded twice with different peaks, {} and {} bytes; the first is used",
                      observation.case_name, cases.peaks[shape], peak));
    return;
  }
  for (std::size_t axis = 0; axis < integers.size(); ++axis)
    cases.shapes.axes[axis].values.push_back(integers[axis].second);
  cases.sequences.push_back(*observation.allocation_sequence);
  cases.peaks.push_back(peak_bytes(cases.sequences.back()));
  cases.observations.push_back(&observation);
}

// What may make formulas differ from the recorded peaks.
void add_notes(RecordedCases& cases) {
  std::size_t not_repeated = 0;
  for (std::size_t shape = 0; shape < cases.sequences.size(); ++shape) {
    const AllocationSequence& sequence = cases.sequences[shape];
    if (std::ranges::any_of(sequence, [](const auto& one) { return !one.is_repeated; })) ++not_repeated;
    const auto recorded = cases.observations[shape]->requested_peak_bytes;
    if (recorded && *recorded != cases.peaks[shape])
      cases.notes.push_back(fmt::format("{}: the allocation sequence has a peak of {} bytes, the run file {}",
                                        cases.observations[shape]->case_name, cases.peaks[shape], *recorded));
  }
  if (not_repeated > 0)
    cases.notes.push_back(fmt::format(
        "{} made other allocations in the second pass: formulas describe the first; record programs with "
        "`sync = true`",
        quantity(not_repeated, "case")));
}

using Formulas = std::vector<std::string>;

// Everything that two explanations must have in common to be merged; empty where something is not explained.
Formulas formulas(const Explanation& explanation) {
  Formulas texts;
  if (explanation.unexplained_bytes != 0 || !explanation.peak()) return texts;
  for (const ExplainedAllocation& one : explanation.allocations) {
    texts.insert(texts.end(),
                 {one.name, one.phase, one.where, to_text(*one.count.formula), to_text(*one.bytes.formula)});
  }
  texts.push_back(to_text(*explanation.peak()));
  return texts;
}

// Merges `other` into `one` if they differ in the words of one axis only.
bool merge(VariantFormulas& one, VariantFormulas& other) {
  if (one.variant != other.variant || one.backend != other.backend || one.words.size() != other.words.size())
    return false;
  const Formulas own = formulas(one.explanation);
  if (own.empty() || own != formulas(other.explanation)) return false;
  WordSet* different = nullptr;
  for (std::size_t i = 0; i < one.words.size(); ++i) {
    if (one.words[i].axis != other.words[i].axis) return false;
    if (one.words[i].words == other.words[i].words) continue;
    if (different != nullptr) return false;
    different = &one.words[i];
    different->words.insert(different->words.end(), other.words[i].words.begin(), other.words[i].words.end());
  }
  if (different == nullptr) return false;
  one.explanation.fitted += other.explanation.fitted;
  one.explanation.held_out += other.explanation.held_out;
  for (std::string& note : other.explanation.notes) {
    if (std::ranges::find(one.explanation.notes, note) == one.explanation.notes.end())
      one.explanation.notes.push_back(std::move(note));
  }
  std::ranges::move(other.cases, std::back_inserter(one.cases));
  one.sites.merge(other.sites);
  return true;
}

bool merge_any(std::vector<VariantFormulas>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      // A copy, since a merge that is refused late leaves words behind.
      VariantFormulas merged = all[i];
      if (!merge(merged, all[j])) continue;
      all[i] = std::move(merged);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(j));
      return true;
    }
  }
  return false;
}

}  // namespace

std::string VariantFormulas::site(const std::string& where) const {
  const auto found = sites.find(where);
  return found == sites.end() ? where : found->second;
}

std::string VariantFormulas::words_text() const {
  std::vector<std::string> texts;
  for (const WordSet& set : words) texts.push_back(fmt::format("{}={}", set.axis, fmt::join(set.words, ",")));
  return fmt::format("{}", fmt::join(texts, " "));
}

std::vector<RecordedCases> group_cases(const Run& run, const FixedAxes& fixed) {
  std::vector<const Observation*> observations;
  bool has_sequences = false;
  for (const Observation& observation : run.observations) {
    if (!observation.allocation_sequence) continue;
    has_sequences = true;
    if (has_values(observation, fixed)) observations.push_back(&observation);
  }
  if (!has_sequences)
    throw UsageError(
        "no case of this run has its allocations: record them with `peakmark run SUITE --sequences`");
  if (observations.empty()) throw UsageError("no case of this run has all these values: correct AXIS=VALUE");

  const std::set<std::string> with_item_size = variants_with_several_dtypes(observations);
  std::vector<RecordedCases> groups;
  for (const Observation* const observation : observations) {
    auto [words, integers] = split_axes(observation->axes, with_item_size.contains(observation->variant));
    auto group = std::ranges::find_if(groups, [&, &words = words](const RecordedCases& one) {
      return one.variant == observation->variant && one.backend == observation->backend && one.words == words;
    });
    if (group == groups.end())
      group = groups.insert(
          groups.end(),
          {observation->variant, observation->backend, std::move(words), {}, {}, {}, {}, {}, {}});
    add_shape(*group, integers, *observation);
  }
  for (RecordedCases& group : groups) {
    add_notes(group);
    const auto same = std::ranges::find_if(groups, [&](const RecordedCases& one) {
      return one.fitters && one.fitters->shapes() == group.shapes;
    });
    group.fitters = same == groups.end() ? std::make_shared<Fitters>(group.shapes) : same->fitters;
  }
  return groups;
}

std::vector<VariantFormulas> explain_cases(std::vector<RecordedCases> groups) {
  std::vector<VariantFormulas> all;
  for (RecordedCases& group : groups) {
    VariantFormulas one{group.variant,
                        group.backend,
                        {},
                        explain(*group.fitters, group.sequences),
                        {},
                        short_call_sites(group.sequences)};
    for (const auto& [axis, word] : group.words) one.words.push_back({axis, {word}});
    one.explanation.notes.insert(one.explanation.notes.end(), group.notes.begin(), group.notes.end());
    one.cases.push_back(std::move(group));
    all.push_back(std::move(one));
  }
  while (merge_any(all)) {
  }
  return all;
}

std::size_t largest_shape(const RecordedCases& cases) {
  return static_cast<std::size_t>(std::ranges::max_element(cases.peaks) - cases.peaks.begin());
}

}  // namespace peakmark
