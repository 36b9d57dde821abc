#include "base/terminal_codes.hpp"

namespace peakmark {
namespace {

bool is_between(char letter, char first, char last) {
  return letter >= first && letter <= last;
}

/// Returns the length of a control sequence, after its escape character. If it does not end, because a line
/// was truncated, it extends to the end of the text. 0: the escape character begins no sequence.
std::size_t terminal_code_bytes(std::string_view text) {
  std::size_t bytes = 0;
  const auto skip = [&](char first, char last) {
    while (bytes < text.size() && is_between(text[bytes], first, last)) ++bytes;
  };
  const auto ends_in = [&](char first, char last) {
    if (bytes < text.size() && is_between(text[bytes], first, last)) ++bytes;
    return bytes;
  };
  if (text.empty()) return 0;
  if (text.front() == '[') {  // CSI: parameters, intermediate bytes, a final byte
    bytes = 1;
    skip('0', '?');
    skip(' ', '/');
    return ends_in('@', '~');
  }
  if (std::string_view("]P^_X").find(text.front()) != std::string_view::npos) {  // text up to BEL or ST
    const std::size_t end = text.find_first_of("\x07\x1b");
    if (end == std::string_view::npos) return text.size();
    return text.substr(end).starts_with("\x1b\\") ? end + 2 : text[end] == '\x07' ? end + 1 : end;
  }
  skip(' ', '/');
  return ends_in('0', '~');
}

}  // namespace

std::string without_terminal_codes(std::string_view text) {
  constexpr char kEscape = '\x1b';
  std::string plain;
  for (std::size_t at = text.find(kEscape); at != std::string_view::npos; at = text.find(kEscape)) {
    plain += text.substr(0, at);
    text.remove_prefix(at + 1);
    text.remove_prefix(terminal_code_bytes(text));
  }
  return plain.append(text);
}

}  // namespace peakmark
