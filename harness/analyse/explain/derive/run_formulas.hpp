#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyse/explain/derive/explain.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {

/// An axis of words or floating-point numbers, and its values for which the formulas are the same.
struct WordSet {
  std::string axis;
  std::vector<AxisValue> words;
  bool operator==(const WordSet&) const = default;
};
/// Returns `mode=edge,reflect sigma=0.5 dtype=f32`; empty without such axes.
std::string words_text(const std::vector<WordSet>& words);

/// Returns `padding/nabu  mode=edge`.
std::string variant_title(const std::string& variant, const std::vector<WordSet>& words);

/// Cases of a run that may have the same formulas, because variant, backend and combination of words are the
/// same. They differ in integer axes, and in `dtype`, which becomes the axis `itemsize` if a run has several.
struct RecordedCases {
  std::string variant;
  std::string backend;
  std::vector<WordSet> words;  ///< one word per axis, in the order of the axes
  Shapes shapes;
  std::vector<Size> peaks;  ///< peak_bytes() of each shape's sequence
  std::vector<const Observation*>
      observations;  ///< one per shape; they belong to the run, and each has a sequence
  std::vector<std::string> notes;
  std::shared_ptr<Fitters> fitters;  ///< for these shapes; shared by all cases with the same shapes

  [[nodiscard]] const AllocationSequence& sequence(std::size_t shape) const {
    return *observations[shape]->allocation_sequence;
  }
  /// Returns the sequence of each shape.
  [[nodiscard]] AllocationSequences sequences() const;
};

/// Values of axes in the user's spelling: `ny` and `4096`, `mode` and `edge`.
using AxisTexts = std::vector<std::pair<std::string, std::string>>;

/// Returns whether a user's text is this value: `5e-1` is 0.5.
bool is_value(const AxisValue& value, const std::string& text);

/// Values of integer axes.
using AxisLengths = std::vector<std::pair<std::string, Size>>;

/// Removes the cases of a run that cannot be explained: those without an allocation sequence or with another
/// value of an axis. Throws UsageError if none is left.
void keep_explained_cases(Run& run, const AxisTexts& values);

/// Groups the cases of a run that have an allocation sequence. The result refers to `run`.
std::vector<RecordedCases> group_cases(const Run& run);

/// The formulas of a variant for some combinations of words.
struct VariantFormulas {
  std::string variant;
  std::string backend;
  std::vector<WordSet> words;
  Explanation explanation;
  std::vector<RecordedCases> cases;          ///< one for each combination of words; the first was explained
  std::map<std::string, std::string> sites;  ///< for each `where`, its call site without wrappers

  [[nodiscard]] const Shapes& shapes() const { return cases.front().shapes; }
  /// Returns whether the bytes of each allocation and the peak have a formula.
  [[nodiscard]] bool is_explained() const {
    return explanation.unexplained_bytes == 0 && explanation.peak().has_value();
  }
  /// Returns the call site of an allocation without wrappers: `padding.py:88`.
  [[nodiscard]] std::string site(const std::string& where) const;
  [[nodiscard]] std::string words_text() const { return peakmark::words_text(words); }
  [[nodiscard]] std::string title() const { return variant_title(variant, words); }
};

/// Explains each group of cases, and merges groups that differ only in words and have the same formulas.
/// `frames`: number of frames of call sites, see name_sites().
std::vector<VariantFormulas> explain_cases(std::vector<RecordedCases> groups, std::size_t frames = 0);

/// Returns the shapes of all cases of a variant: its formulas are correct at each of them.
Shapes tested_shapes(const VariantFormulas& variant);

/// Returns the index of the shape with the largest recorded peak.
std::size_t largest_shape(const RecordedCases& cases);

}  // namespace peakmark
