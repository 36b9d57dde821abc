# peakmark_add_kernel_source(TARGET NAME FILE DTYPES f32 f64 …)
# Embeds device code into TARGET: its text, and, where CUDA is built, a fatbin per dtype (sm 75, 80, 90 and PTX).
# Declares `const peakmark::KernelSource& NAME_source();` in the header `NAME_source.hpp`, which TARGET may include.
# FILE may include files of its folder, each once: `#include "x.kernel.h"`, alone on its line.
function(peakmark_expand_kernel_text path text_variable paths_variable)
  file(READ ${path} text)
  set(paths ${path})
  cmake_path(GET path PARENT_PATH folder)
  string(REGEX MATCHALL "#include \"[a-z0-9_]+\\.kernel\\.h\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX MATCH "[a-z0-9_]+\\.kernel\\.h" file "${include}")
    peakmark_expand_kernel_text(${folder}/${file} included included_paths)
    string(REPLACE "${include}" "${included}" text "${text}")
    list(APPEND paths ${included_paths})
  endforeach()
  set(${text_variable} "${text}" PARENT_SCOPE)
  set(${paths_variable} "${paths}" PARENT_SCOPE)
endfunction()

function(peakmark_add_kernel_source target name file)
  cmake_parse_arguments(SOURCE "" "" "DTYPES" ${ARGN})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  peakmark_expand_kernel_text(${path} text paths)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${paths})

  string(HEX "${text}" text)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," text "${text}")
  set(images "")
  set(image_list "")
  if(PEAKMARK_HAS_CUDA)
    foreach(dtype ${SOURCE_DTYPES})
      peakmark_cuda_fatbin(${generated}/${name}_${dtype}.inc ${path} ${dtype} ${paths})
      list(APPEND fatbins ${generated}/${name}_${dtype}.inc)
      string(APPEND images "alignas(16) const unsigned char kImage_${dtype}[] = {\n#include \"${name}_${dtype}.inc\"\n};\n")
      string(APPEND image_list "      {\"${dtype}\", std::as_bytes(std::span(kImage_${dtype}))},\n")
    endforeach()
  endif()
  if(image_list)
    set(image_list "  static const CudaImage images[] = {\n${image_list}  };\n")
    set(image_span "images")
  else()
    set(image_span "{}")
  endif()
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/harness/api/include>)
  file(GENERATE OUTPUT ${generated}/${name}_source.hpp CONTENT
"#pragma once
#include <peakmark/worker/kernel.hpp>
namespace peakmark {
const KernelSource& ${name}_source();
}
")
  file(GENERATE OUTPUT ${generated}/${name}_source.cpp CONTENT
"#include \"${name}_source.hpp\"
namespace peakmark {
namespace {
const char kText[] = {${text}0};
${images}}
const KernelSource& ${name}_source() {
${image_list}  static const KernelSource source{\"${name}\", {kText, sizeof(kText) - 1}, ${image_span}};
  return source;
}
}
")
  target_sources(${target} PRIVATE ${generated}/${name}_source.cpp)
  set_source_files_properties(${generated}/${name}_source.cpp PROPERTIES
    OBJECT_DEPENDS "${fatbins}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_include_directories(${target} PRIVATE ${generated})
endfunction()
