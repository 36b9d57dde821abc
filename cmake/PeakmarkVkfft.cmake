# Sets vkfft_include, the folder of vkFFT.h, and vkfft_version. VkFFT is header-only. The memory of its plans differs between
# versions, so only the version of the tables in kernels/fft is used: that of PEAKMARK_VKFFT_INCLUDE, else the system's, else
# ci/vkfft downloads it.
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/vkfft_tables.inc vkfft_version LIMIT_COUNT 1)
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" vkfft_version "${vkfft_version}")

# Sets `variable` to the version of the headers in a folder, 1.3.4 for example; empty if there is none.
function(peakmark_vkfft_version variable folder)
  set(version "")
  if(EXISTS ${folder}/vkFFT.h)
    file(STRINGS ${folder}/vkFFT.h number REGEX "return [0-9]+;.*X\\.XX\\.XX")
    if(number MATCHES "return ([0-9]+)([0-9][0-9])([0-9][0-9])")
      # 10304
      set(version "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}")
      string(REGEX REPLACE "\\.0([0-9])" ".\\1" version "${version}")
    endif()
  endif()
  set(${variable} "${version}" PARENT_SCOPE)
endfunction()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/vkfft_tables.inc ${PROJECT_SOURCE_DIR}/ci/vkfft)
find_path(PEAKMARK_VKFFT_SYSTEM_INCLUDE vkFFT.h)
mark_as_advanced(PEAKMARK_VKFFT_SYSTEM_INCLUDE)
if(PEAKMARK_VKFFT_INCLUDE STREQUAL PEAKMARK_VKFFT_SYSTEM_INCLUDE)
  # From a build folder of an earlier peakmark, which wrote the file there.
  unset(PEAKMARK_VKFFT_INCLUDE CACHE)
endif()
set(PEAKMARK_VKFFT_INCLUDE "" CACHE PATH "Folder of VkFFT's vkFFT.h, version ${vkfft_version}; empty: the system's if it is that, else downloaded")

peakmark_vkfft_version(system_version "${PEAKMARK_VKFFT_SYSTEM_INCLUDE}")
if(PEAKMARK_VKFFT_INCLUDE)
  set(vkfft_include ${PEAKMARK_VKFFT_INCLUDE})
elseif(system_version STREQUAL vkfft_version)
  set(vkfft_include ${PEAKMARK_VKFFT_SYSTEM_INCLUDE})
else()
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/ci/vkfft ${PROJECT_BINARY_DIR}/vkfft OUTPUT_VARIABLE vkfft_include
                  ERROR_VARIABLE error RESULT_VARIABLE result OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "VkFFT ${vkfft_version} is missing:\n${error}")
  endif()
endif()
peakmark_vkfft_version(found_version "${vkfft_include}")
if(NOT found_version STREQUAL vkfft_version)
  if(NOT found_version)
    set(found_version "missing")
  endif()
  message(FATAL_ERROR "VkFFT in ${vkfft_include} is ${found_version}: peakmark needs ${vkfft_version}, whose tables kernels/fft has; "
                      "set PEAKMARK_VKFFT_INCLUDE to its folder, or leave it out to download it")
endif()
message(STATUS "VkFFT: ${vkfft_version}, ${vkfft_include}")
