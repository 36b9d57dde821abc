# peakmark_embed(TARGET NAME FILE …): embeds files into a program; embedded_files.hpp declares `embedded::NAME()`, the text of each.
function(peakmark_embed target)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(declared "")
  set(defined "")
  while(ARGN)
    list(POP_FRONT ARGN name file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND declared "std::string_view ${name}();\n")
    string(APPEND defined "std::string_view ${name}() {
  static const unsigned char bytes[] = {${bytes}};
  return {reinterpret_cast<const char*>(bytes), sizeof bytes};
}
")
  endwhile()
  file(GENERATE OUTPUT ${generated}/embedded_files.hpp CONTENT
    "#pragma once\n#include <string_view>\nnamespace embedded {\n${declared}}\n")
  file(GENERATE OUTPUT ${generated}/embedded_files.cpp CONTENT
    "#include \"embedded_files.hpp\"\nnamespace embedded {\n${defined}}\n")
  target_sources(${target} PRIVATE ${generated}/embedded_files.cpp)
  target_include_directories(${target} PRIVATE ${generated})
endfunction()
