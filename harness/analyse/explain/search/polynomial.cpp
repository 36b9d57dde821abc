#include "analyse/explain/search/polynomial.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

namespace peakmark {
namespace {

using Exponents = std::vector<int>;

// With more variables than this there are too many ways to split them.
constexpr std::size_t kMaxSplitVariables = 10;

Expression product(const Exponents& exponents, Size coefficient, const std::vector<Expression>& variables) {
  std::vector<Expression> factors{Expression(coefficient)};
  for (std::size_t v = 0; v < variables.size(); ++v) {
    for (int power = 0; power < exponents[v]; ++power) factors.push_back(variables[v]);
  }
  return Expression::multiply(std::move(factors));
}

// Returns whether a · d == b · c, without overflow.
bool proportional(Size a, Size b, Size c, Size d) {
  __extension__ using Wide = __int128;
  return static_cast<Wide>(a) * d == static_cast<Wide>(b) * c;
}

struct Split {
  Polynomial first;
  Polynomial second;
};

// P(x, y) = A(x)·B(y) if the matrix of coefficients, with monomials of x as rows and of y as columns, has
// rank 1.
std::optional<Split> split(const Polynomial& polynomial, const std::vector<bool>& in_first) {
  std::map<Exponents, std::map<Exponents, Size>> rows;
  for (const auto& [exponents, coefficient] : polynomial) {
    Exponents first = exponents;
    Exponents second = exponents;
    for (std::size_t v = 0; v < exponents.size(); ++v) (in_first[v] ? second : first)[v] = 0;
    rows[first][second] = coefficient;
  }
  const auto& [reference_monomial, reference] = *rows.begin();
  Size content = 0;
  for (const auto& [monomial, coefficient] : reference) content = std::gcd(content, coefficient);
  Split parts;
  for (const auto& [monomial, coefficient] : reference) parts.second[monomial] = coefficient / content;
  for (const auto& [row_monomial, row] : rows) {
    if (row.size() != reference.size()) return std::nullopt;
    const Size scale = row.begin()->second;
    const Size base = reference.begin()->second;
    auto other = reference.begin();
    for (const auto& [monomial, coefficient] : row) {
      if (monomial != other->first || !proportional(coefficient, other->second, scale, base))
        return std::nullopt;
      ++other;
    }
    // row = (scale / base) · reference = (scale · content / base) · second, which is an integer.
    parts.first[row_monomial] = scale / (base / content);
  }
  return parts;
}

Expression factored_without_content(const Polynomial& polynomial, const std::vector<Expression>& variables) {
  std::vector<std::size_t> used;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    if (std::ranges::any_of(polynomial, [&](const auto& term) { return term.first[v] > 0; }))
      used.push_back(v);
  }
  if (polynomial.size() > 1 && used.size() > 1 && used.size() <= kMaxSplitVariables) {
    // Small first parts come first, so that the factors are complete; the last variable is never in the first
    // part.
    std::vector<unsigned> choices((1U << (used.size() - 1)) - 1);
    std::iota(choices.begin(), choices.end(), 1U);
    std::ranges::stable_sort(choices, {}, [](unsigned choice) { return __builtin_popcount(choice); });
    for (const unsigned choice : choices) {
      std::vector<bool> in_first(variables.size(), false);
      for (std::size_t i = 0; i + 1 < used.size(); ++i) in_first[used[i]] = (choice >> i & 1U) != 0;
      if (const auto parts = split(polynomial, in_first)) {
        return Expression::multiply({factored(parts->first, variables), factored(parts->second, variables)});
      }
    }
  }
  std::vector<Expression> terms;
  terms.reserve(polynomial.size());
  // Terms of high degree come first, as people write them.
  std::vector<std::pair<int, Expression>> by_degree;
  by_degree.reserve(polynomial.size());
  for (const auto& [exponents, coefficient] : polynomial) {
    by_degree.emplace_back(-std::accumulate(exponents.begin(), exponents.end(), 0),
                           product(exponents, coefficient, variables));
  }
  std::ranges::reverse(by_degree);
  std::ranges::stable_sort(by_degree, {}, [](const auto& entry) { return entry.first; });
  for (auto& [degree, term] : by_degree) terms.push_back(std::move(term));
  return Expression::add(std::move(terms));
}

}  // namespace

Expression factored(const Polynomial& polynomial, const std::vector<Expression>& variables) {
  if (polynomial.empty()) return Expression(Size{0});
  Size content = 0;
  Exponents common = polynomial.begin()->first;
  for (const auto& [exponents, coefficient] : polynomial) {
    content = std::gcd(content, coefficient);
    for (std::size_t v = 0; v < common.size(); ++v) common[v] = std::min(common[v], exponents[v]);
  }
  // Coefficients are not 0, so neither is their greatest common divisor. Its sign is that of the leading
  // term.
  if (polynomial.rbegin()->second < 0) content = -content;
  if (content == 0) return Expression(Size{0});
  Polynomial rest;
  for (const auto& [exponents, coefficient] : polynomial) {
    Exponents less = exponents;
    for (std::size_t v = 0; v < common.size(); ++v) less[v] -= common[v];
    rest[less] = coefficient / content;
  }
  return Expression::multiply(
      {product(common, content, variables), factored_without_content(rest, variables)});
}

}  // namespace peakmark
