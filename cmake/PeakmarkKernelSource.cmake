# peakmark_add_kernel_source(TARGET NAME FILE DTYPES f32 f64 …)
# Embeds device code (peakmark/kernel_language.h) into TARGET, a worker or one of its libraries: the text and, if there is a CUDA
# toolkit, a fatbin for each dtype. Declares `const peakmark::KernelSource& peakmark::NAME_source();` in the header
# `NAME_source.hpp`, which TARGET may include. FILE may include files of its folder, each once: `#include "x.kernel.h"`, alone on
# its line.
#
# The fatbins are for the architectures in PEAKMARK_CUDA_ARCHITECTURES (75;80;90 by default). -DPEAKMARK_HAS_CUDA=OFF omits
# them; otherwise peakmark_find_cuda_toolkit() finds nvcc. Without a toolkit, the configuration prints why there is no fatbin.

# The header that is put in front of device code, from the source tree, the package of a build folder, or an installed package.
foreach(folder ${CMAKE_CURRENT_LIST_DIR}/../harness/measure/device ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/../../../include/peakmark)
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
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -fatbin -O3 -std=c++17 ${targets} -ccbin ${PEAKMARK_CUDA_HOST_COMPILER}
            -include ${language} -DPM_DTYPE_${dtype} -x cu ${source} -o ${fatbin}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${fatbin} -DOUTPUT=${output} -P ${hex}
    DEPENDS ${source} ${ARGN} ${language} ${hex} ${CUDAToolkit_NVCC_EXECUTABLE}
    COMMENT "Compiling ${name} for CUDA"
    VERBATIM)
endfunction()

# Sets PEAKMARK_CUDA_HOST_COMPILER to the C++ compiler that nvcc uses: CUDAHOSTCXX of the environment, else the compiler of this
# build, else an older one. Each release of CUDA refuses compilers that are newer than those it supports.
function(peakmark_find_cuda_host_compiler)
  if(PEAKMARK_CUDA_HOST_COMPILER)
    return()
  endif()
  set(empty ${CMAKE_CURRENT_BINARY_DIR}/empty.cu)
  file(WRITE ${empty} "")
  foreach(name "$ENV{CUDAHOSTCXX}" "${CMAKE_CXX_COMPILER}" g++-15 g++-14 g++-13 g++-12 g++-11)
    find_program(compiler NAMES ${name} NO_CACHE)
    if(compiler)
      execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -E -x cu -ccbin ${compiler} ${empty}
        RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
      if(result EQUAL 0)
        if(NOT compiler STREQUAL "${CMAKE_CXX_COMPILER}" AND CMAKE_CXX_COMPILER)
          message(STATUS "CUDA: nvcc uses ${compiler}, not ${CMAKE_CXX_COMPILER}")
        endif()
        set(PEAKMARK_CUDA_HOST_COMPILER ${compiler} CACHE FILEPATH "The C++ compiler that nvcc uses")
        return()
      endif()
    endif()
    unset(compiler)
  endforeach()
endfunction()

# Finds a CUDA toolkit with nvcc, of 12.0 or later. Sets the variables of FindCUDAToolkit, `peakmark_cuda_error` (empty, or what is
# wrong and what to do), and `peakmark_cuda_others` (the roots of further toolkits on this machine).
# -DCUDAToolkit_ROOT=… names the toolkit; without it, CUDAToolkit_ROOT and CUDA_HOME of the environment, CUDA_PATH, PATH and
# /usr/local/cuda are searched.
macro(peakmark_find_cuda_toolkit)
  # Toolkits made of wheels have only the static runtime; Debian's runtime is in lib/x86_64-linux-gnu.
  set(peakmark_cudart NAMES cudart libcudart_static.a)
  set(peakmark_cudart_folders PATH_SUFFIXES lib64 lib lib/x86_64-linux-gnu targets/x86_64-linux/lib NO_DEFAULT_PATH)
  set(peakmark_cuda_error "")
  set(peakmark_cuda_others "")
  foreach(variable CUDAToolkit_ROOT CUDA_HOME)
    if(NOT CUDAToolkit_ROOT AND NOT "$ENV{${variable}}" STREQUAL "")
      set(CUDAToolkit_ROOT $ENV{${variable}})
    endif()
  endforeach()
  if(CUDAToolkit_ROOT AND NOT EXISTS ${CUDAToolkit_ROOT}/bin/nvcc)
    set(peakmark_cuda_error "no bin/nvcc in CUDAToolkit_ROOT: ${CUDAToolkit_ROOT}; name the root of a toolkit")
  endif()
  # The toolkit that is asked for; it may be unusable.
  find_program(PEAKMARK_NVCC_IN_PATH nvcc)
  mark_as_advanced(PEAKMARK_NVCC_IN_PATH)
  set(peakmark_cuda_used "")
  set(peakmark_nvcc "")
  if(CUDAToolkit_ROOT)
    set(peakmark_nvcc ${CUDAToolkit_ROOT}/bin/nvcc)
  elseif(PEAKMARK_NVCC_IN_PATH AND "$ENV{CUDA_PATH}" STREQUAL "")
    set(peakmark_nvcc ${PEAKMARK_NVCC_IN_PATH})
  endif()
  if(peakmark_nvcc AND NOT peakmark_cuda_error)
    file(REAL_PATH ${peakmark_nvcc} peakmark_cuda_used)
    file(REAL_PATH ${peakmark_cuda_used}/../.. peakmark_cuda_used)
    # FindCUDAToolkit needs one of the runtime's libraries to find the folder.
    find_library(CUDA_CUDART ${peakmark_cudart} PATHS ${CUDAToolkit_ROOT} ${peakmark_cuda_used} ${peakmark_cudart_folders})
  endif()
  # In CMake 3.25.1, which Debian 12 has, FindCUDAToolkit fails if the project requires CMake 3.25 and the toolkit has no
  # libnvToolsExt, as CUDA 13 does not.
  set(peakmark_minimum ${CMAKE_MINIMUM_REQUIRED_VERSION})
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
  if(NOT peakmark_cuda_error)
    find_package(CUDAToolkit QUIET)
  endif()
  set(CMAKE_MINIMUM_REQUIRED_VERSION ${peakmark_minimum})
  if(CUDAToolkit_NVCC_EXECUTABLE)  # not set if CMake 3.31 finds the toolkit unusable
    set(peakmark_nvcc ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  foreach(folder ${CUDAToolkit_BIN_DIR} ${CUDAToolkit_INCLUDE_DIRS})
    file(REAL_PATH ${folder}/.. folder)
    list(APPEND peakmark_cuda_used ${folder})
  endforeach()
  # If this toolkit lacks the runtime, FindCUDAToolkit uses that of another toolkit.
  find_library(PEAKMARK_CUDART ${peakmark_cudart} PATHS ${peakmark_cuda_used} ${peakmark_cudart_folders})
  mark_as_advanced(PEAKMARK_CUDART)
  # A machine may have several toolkits; one is used.
  file(GLOB peakmark_cuda_compilers /usr/local/cuda*/bin/nvcc)
  foreach(compiler "${PEAKMARK_NVCC_IN_PATH}" ${peakmark_cuda_compilers})
    if(EXISTS "${compiler}")
      file(REAL_PATH ${compiler} peakmark_cuda_other)
      cmake_path(GET peakmark_cuda_other PARENT_PATH peakmark_cuda_other)
      cmake_path(GET peakmark_cuda_other PARENT_PATH peakmark_cuda_other)
      # It must not be a link or script that calls the nvcc of another folder.
      if(EXISTS ${peakmark_cuda_other}/include/cuda_runtime.h AND NOT peakmark_cuda_other IN_LIST peakmark_cuda_used)
        list(APPEND peakmark_cuda_others ${peakmark_cuda_other})
      endif()
    endif()
  endforeach()
  list(REMOVE_DUPLICATES peakmark_cuda_others)
  if(peakmark_cuda_error)
    # The named toolkit is wrong, and no other one is used instead.
  elseif(NOT peakmark_nvcc)
    set(peakmark_cuda_error "no CUDA toolkit found; install one and set CUDAToolkit_ROOT")
  elseif(NOT CUDAToolkit_VERSION)
    set(peakmark_cuda_error "${peakmark_nvcc} does not run; install the toolkit again")
  elseif(CUDAToolkit_VERSION VERSION_LESS 12.0)
    set(peakmark_cuda_error "CUDA ${CUDAToolkit_VERSION} of ${peakmark_nvcc} is older than 12.0; install a newer toolkit and set CUDAToolkit_ROOT")
  elseif(NOT (CUDAToolkit_FOUND AND PEAKMARK_CUDART))
    set(peakmark_cuda_error "incomplete CUDA toolkit of ${peakmark_nvcc}: its headers or libcudart are missing; install the whole toolkit")
  endif()
  if(NOT peakmark_cuda_error)
    peakmark_find_cuda_host_compiler()
    if(NOT PEAKMARK_CUDA_HOST_COMPILER)
      set(peakmark_cuda_error "CUDA ${CUDAToolkit_VERSION} supports none of the C++ compilers here; install an older one (g++-13 for CUDA 12.4) or set CUDAHOSTCXX")
    endif()
  endif()
  if(peakmark_cuda_error AND peakmark_cuda_others)
    list(JOIN peakmark_cuda_others ", " peakmark_cuda_other_roots)
    string(APPEND peakmark_cuda_error " (there is ${peakmark_cuda_other_roots})")
  endif()
endmacro()

function(peakmark_add_kernel_source target name file)
  cmake_parse_arguments(PARSE_ARGV 3 SOURCE "" "" "DTYPES")
  if(SOURCE_UNPARSED_ARGUMENTS OR NOT SOURCE_DTYPES)
    message(FATAL_ERROR "peakmark_add_kernel_source(${target} ${name}): write DTYPES and the element types, f32 for example, after "
      "the file")
  endif()
  if(NOT DEFINED PEAKMARK_HAS_CUDA)  # in a project of a user
    peakmark_find_cuda_toolkit()
    set(PEAKMARK_HAS_CUDA TRUE)
    if(peakmark_cuda_error)
      set(PEAKMARK_HAS_CUDA FALSE)
      get_property(is_reported GLOBAL PROPERTY PEAKMARK_REPORTED_NO_CUDA)
      if(NOT is_reported)
        message(STATUS "peakmark: kernels are compiled without CUDA images: ${peakmark_cuda_error}; -DPEAKMARK_HAS_CUDA=OFF if none are wanted")
        set_property(GLOBAL PROPERTY PEAKMARK_REPORTED_NO_CUDA TRUE)
      endif()
    endif()
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
  # In the source tree, targets that do not link peakmark::worker also include its headers.
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
