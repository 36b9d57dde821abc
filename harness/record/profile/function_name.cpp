#include "record/profile/function_name.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/text.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxCharacters = 80;

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

bool is_in_name(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

/// Reads the name of a demangled function.
class FunctionReader {
 public:
  explicit FunctionReader(std::string_view text) : text_(text) {}

  /// Returns the name; empty if the text has none.
  std::string name() {
    while (!text_.empty()) {
      if (take("(anonymous namespace)::")) continue;
      if (depth_ == 0 && begins_operator()) {
        take_operator();
        continue;
      }
      const char letter = text_.front();
      if (letter == ' ' && depth_ == 0 && has_parameters_ && is_qualifier(text_.substr(1))) break;
      text_.remove_prefix(1);
      add(letter);
    }
    return name_;
  }

 private:
  /// Returns whether the text after the parameters is a qualifier, such as `const` or `[clone .cold]`.
  static bool is_qualifier(std::string_view rest) {
    constexpr std::array<std::string_view, 7> kQualifiers{"const", "volatile", "&",       "[",
                                                          "(.",    "noexcept", "requires"};
    return std::ranges::any_of(kQualifiers, [&](std::string_view one) { return rest.starts_with(one); });
  }

  bool take(std::string_view part) {
    if (!text_.starts_with(part)) return false;
    text_.remove_prefix(part.size());
    return true;
  }

  [[nodiscard]] bool begins_operator() const {
    constexpr std::string_view kOperator = "operator";
    return text_.starts_with(kOperator) && (name_.empty() || !is_in_name(name_.back())) &&
           (text_.size() == kOperator.size() || !is_in_name(text_[kOperator.size()]));
  }

  /// Reads `operator` with its symbol, which may contain brackets, or with its type.
  void take_operator() {
    constexpr std::string_view kSymbols = "+-*/%^&|~!=<>,";
    take("operator");
    name_ += "operator";
    for (const std::string_view whole : {"()", "[]", " new[]", " new", " delete[]", " delete"}) {
      if (!take(whole)) continue;
      name_ += whole;
      return;
    }
    const bool is_symbol = !text_.empty() && kSymbols.find(text_.front()) != std::string_view::npos;
    const std::size_t end =
        std::min(is_symbol ? text_.find_first_not_of(kSymbols) : text_.find_first_of("(<"), text_.size());
    name_ += text_.substr(0, end);
    text_.remove_prefix(end);
    if (is_symbol && text_.starts_with(" <")) text_.remove_prefix(1);  // template arguments
  }

  void add(char letter) {
    if (letter == '<' || letter == '(' || letter == '[') {
      ++depth_;
    } else if (letter == '>' || letter == ')' || letter == ']') {
      depth_ = std::max(depth_ - 1, 0);
      has_parameters_ = has_parameters_ || (letter == ')' && depth_ == 0);
    } else if (letter == ' ' && depth_ == 0) {
      name_.clear();  // the text so far was the return type
    } else if (depth_ == 0) {
      name_ += letter;
    }
  }

  std::string_view text_;
  std::string name_;
  int depth_ = 0;  // of brackets
  bool has_parameters_ = false;
};

}  // namespace

std::string readable_function(const std::string& symbol) {
  const std::string whole = demangled(symbol);
  const std::string name = FunctionReader(whole).name();
  return cut_in_middle(name.empty() ? whole : name, kMaxCharacters);
}

}  // namespace peakmark
