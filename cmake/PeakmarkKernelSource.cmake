# peakmark_add_kernel_source(TARGET NAME FILE DTYPES f32 f64 …)
# Embeds device code (peakmark/kernel_language.h) into TARGET, a worker or a library of it: its text and, if there is a CUDA
# toolkit, a fatbin for each dtype. Declares `const peakmark::KernelSource& peakmark::NAME_source();` in the header
# `NAME_source.hpp`, which TARGET may include. FILE may include files of its folder, each once: `#include "x.kernel.h"`, alone on
# its line.
#
# The fatbins are for the architectures in PEAKMARK_CUDA_ARCHITECTURES (75;80;90 by default). -DPEAKMARK_HAS_CUDA=OFF leaves them
# out; otherwise nvcc is that of find_package(CUDAToolkit).

# The header that is put in front of device code: of the source tree, the package of a build folder, or an installed package.
foreach(folder ${CMAKE_CURRENT_LIST_DIR}/../harness/device ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/../../../include/peakmark)
  cmake_path(NORMAL_PATH folder)
  if(EXISTS ${folder}/kernel_language.h)
    set_property(GLOBAL PROPERTY PEAKMARK_KERNEL_LANGUAGE ${folder}/kernel_language.h)
    break()
  endif()
endforeach()

# Reads a file and the files that it includes.
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

# peakmark_cuda_fatbin(OUTPUT.inc SOURCE DTYPE [FILE…])
# Compiles device code for one element type, and writes the fatbin as a list of C bytes. FILEs are the files that SOURCE includes.
function(peakmark_cuda_fatbin output source dtype)
  get_property(language GLOBAL PROPERTY PEAKMARK_KERNEL_LANGUAGE)
  set(hex ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/PeakmarkHex.cmake)
  set(fatbin ${output}.fatbin)
  if(NOT PEAKMARK_CUDA_ARCHITECTURES)
    set(PEAKMARK_CUDA_ARCHITECTURES 75 80 90)
  endif()
  set(targets "")
  foreach(architecture ${PEAKMARK_CUDA_ARCHITECTURES})
    list(APPEND targets -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  list(GET PEAKMARK_CUDA_ARCHITECTURES -1 newest)
  list(APPEND targets -gencode arch=compute_${newest},code=compute_${newest})
  cmake_path(GET output FILENAME name)
  cmake_path(GET output PARENT_PATH folder)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -O3 -std=c++17 ${targets} -ccbin ${CMAKE_CXX_COMPILER}
            -include ${language} -DPM_DTYPE_${dtype} -x cu ${source} -o ${fatbin}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${fatbin} -DOUTPUT=${output} -P ${hex}
    DEPENDS ${source} ${ARGN} ${language} ${hex} ${CUDAToolkit_NVCC_EXECUTABLE}
    COMMENT "Compiling ${name} for CUDA"
    VERBATIM)
endfunction()

# Finds the CUDA toolkit. FindCUDAToolkit of CMake 3.25.1, which Debian 12 has, ends with an error if the toolkit has no
# libnvToolsExt, as CUDA 13, and the project asks for CMake 3.25.
macro(peakmark_find_cuda_toolkit)
  set(peakmark_minimum ${CMAKE_MINIMUM_REQUIRED_VERSION})
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
  find_package(CUDAToolkit QUIET)
  set(CMAKE_MINIMUM_REQUIRED_VERSION ${peakmark_minimum})
endmacro()

function(peakmark_add_kernel_source target name file)
  cmake_parse_arguments(PARSE_ARGV 3 SOURCE "" "" "DTYPES")
  if(SOURCE_UNPARSED_ARGUMENTS OR NOT SOURCE_DTYPES)
    message(FATAL_ERROR "peakmark_add_kernel_source(${target} ${name}): write DTYPES and the element types, f32 for example, after "
      "the file")
  endif()
  if(NOT DEFINED PEAKMARK_HAS_CUDA)  # in a project of a user
    peakmark_find_cuda_toolkit()
    set(PEAKMARK_HAS_CUDA ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
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
  # In the source tree, targets that link no peakmark::worker include its headers too.
  set(headers ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../harness/api/include)
  if(EXISTS ${headers})
    cmake_path(NORMAL_PATH headers)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${headers}>)
  endif()
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
