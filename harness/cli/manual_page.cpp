#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command_words.hpp"

namespace peakmark::cli {
namespace {

/// Text for roff: `-` is a dash there, a backslash begins a request, and so do `.` and `'` in front of a
/// line.
std::string roff(std::string_view text) {
  std::string result;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) result = "\\&";
  for (const char letter : text) {
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else if (letter == '`') {
      result += "\\(ga";
    } else if (letter == '~') {
      result += "\\(ti";
    } else if (letter == '^') {
      result += "\\(ha";
    } else {
      result += letter;
    }
  }
  return result;
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text) + "\\fR";
}
std::string slanted(std::string_view text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string sentence(std::string text) {
  const bool has_end = text.ends_with('.') || text.ends_with('?') || text.ends_with("…");
  if (!text.empty() && !has_end) text += '.';
  return text;
}

/// Of another page: "peakmark-run(1)", in one line.
std::string reference(const CommandWords& command) {
  return "\\%" + bold(page_name(command)) + "(1)";
}

std::string roff_value(const OptionWords& option) {
  std::string text;
  if (option.choices.empty()) {
    text = slanted(option.value);
  } else {
    for (const std::string& word : option.choices) text += (text.empty() ? "" : "|") + bold(word);
  }
  if (option.most_values == OptionWords::kAnyNumber) return text + "...";
  if (option.most_values == 2) return text + " " + text;
  return text;
}

std::string option_entry(const OptionWords& option) {
  std::string term;
  for (const std::string& name : option.names) term += (term.empty() ? "" : ", ") + bold(name);
  if (term.empty()) term = slanted(option.value);
  if (!option.names.empty() && option.most_values > 0) term += " " + roff_value(option);
  std::string text = roff(sentence(option.description));
  if (option.names.empty() && !option.choices.empty()) text += " One of " + roff_value(option) + ".";
  if (option.is_required && !option.names.empty()) text += " Required.";
  if (option.may_repeat && option.most_values == 1) text += " May stand more than once.";
  if (!option.default_value.empty()) text += " Default: " + bold(option.default_value) + ".";
  if (!option.environment.empty()) text += " Else what " + bold(option.environment) + " says.";
  return ".TP\n" + term + "\n" + text + "\n";
}

std::string heading(std::string_view name) {
  std::string large(name);
  std::ranges::transform(large, large.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return ".SH " + roff(large) + "\n";
}

std::string synopsis_part(const CommandWords& command) {
  std::string text = heading("Synopsis") + bold(command.name);
  if (!command.options.empty()) text += " [" + slanted("OPTION") + "]...";
  for (const OptionWords& one : command.positionals) {
    const std::string word = slanted(one.value) + (one.most_values > 1 ? "..." : "");
    if (command.runs_a_program) text += " [" + bold("--") + "]";
    text += one.is_required ? " " + word : " [" + word + "]";
  }
  if (command.runs_a_program) text += " [" + slanted("ARGUMENT") + "...]";
  if (command.commands.empty()) return text + "\n";
  const std::string below = slanted("COMMAND") + " ...";
  text += command.requires_command ? " " + below : " [" + below + "]";
  return text + "\n";
}

std::string arguments_part(const CommandWords& command) {
  if (command.positionals.empty()) return "";
  std::string text = heading("Arguments");
  for (const OptionWords& one : command.positionals) text += option_entry(one);
  return text;
}

std::string options_part(const CommandWords& command) {
  std::string text;
  std::string group;
  for (const OptionWords& option : command.options) {
    if (option.group != group) text += heading(group = option.group);
    text += option_entry(option);
  }
  return text;
}

std::string commands_part(const CommandWords& command) {
  if (command.commands.empty()) return "";
  std::string text = heading("Commands");
  for (const CommandWords& below : command.commands) {
    text += fmt::format(".TP\n{}\n{}\n", reference(below), roff(sentence(below.description)));
  }
  return text;
}

/// "0 clean, 1 a verdict failed": a line each. What does not begin with a code is a text.
std::string exit_codes(const std::string& text) {
  const auto begins_code = [&](std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    return end > at && end < text.size() && text[end] == ' ';
  };
  if (!begins_code(0)) return roff(text) + "\n";
  std::string list;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find(", ", begin);
    while (end != std::string::npos && !begins_code(end + 2)) end = text.find(", ", end + 2);
    std::string one = text.substr(begin, end == std::string::npos ? end : end - begin);
    if (one.ends_with('.')) one.pop_back();
    const std::size_t blank = one.find(' ');
    list += fmt::format(".TP\n{}\n{}\n", bold(one.substr(0, blank)), roff(one.substr(blank + 1)));
    begin = end == std::string::npos ? text.size() : end + 2;
  }
  return list;
}

/// A footer is lines of text, with a paragraph at the end of each that ends a sentence; the part that begins
/// with "Exit code" has a section of its own, and so has a line that is a word and a colon, with its indented
/// list of names.
std::string footer_parts(const std::string& text) {
  std::string described;
  std::string sections;
  std::string codes;
  bool in_codes = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Exit code")) {
      in_codes = true;
      line.erase(0, std::string_view("Exit code").size());
      if (line.starts_with(':')) line.erase(0, 1);
      codes = line.substr(std::min<std::size_t>(line.find_first_not_of(' '), line.size()));
    } else if (line.ends_with(':') && line.find(' ') == std::string::npos) {
      in_codes = false;
      sections += heading(line.substr(0, line.size() - 1));
    } else if (line.starts_with("  ")) {
      const std::size_t gap = line.find("  ", 2);
      const std::size_t meaning = line.find_first_not_of(' ', gap);
      sections += fmt::format(".TP\n{}\n{}\n", bold(line.substr(2, gap - 2)),
                              roff(meaning < line.size() ? line.substr(meaning) : ""));
    } else if (line.empty()) {
      in_codes = false;
    } else if (in_codes) {
      codes += " " + line;
    } else {
      if (described.ends_with(".\n")) described += ".PP\n";
      described += roff(line) + "\n";
    }
  }
  std::string page;
  if (!described.empty()) page += heading("Notes") + described;
  if (!codes.empty()) page += heading("Exit status") + exit_codes(codes);
  return page + sections;
}

std::string see_also(const CommandWords& program, const CommandWords& command) {
  std::vector<std::string> pages;
  for (const CommandWords* other : all_commands(program)) {
    const bool above = command.name.starts_with(other->name + " ");
    const bool below = other->name.starts_with(command.name + " ");
    if (above || below) pages.push_back(reference(*other));
  }
  std::string text;
  for (const std::string& page : pages) text += page + (page == pages.back() ? "\n" : ",\n");
  return text.empty() ? "" : heading("See also") + text;
}

}  // namespace

std::string page_name(const CommandWords& command) {
  std::string name = command.name;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string manual_page(const CommandWords& program, const CommandWords& command, std::string_view version) {
  std::string title = page_name(command);
  std::ranges::transform(title, title.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return fmt::format(".TH {} 1 \"\" \"peakmark {}\" \"peakmark\"\n", roff(title), roff(version)) +
         heading("Name") + roff(page_name(command)) + " \\- " + roff(command.description) + "\n" +
         synopsis_part(command) + commands_part(command) + arguments_part(command) + options_part(command) +
         footer_parts(command.footer) + see_also(program, command);
}

}  // namespace peakmark::cli
