# cmake -P: writes OUTPUT from TEMPLATE with @COMMIT@ of SOURCE_DIR and other -D variables, only if it changes, so that a new
# commit compiles one small file. A `+` after the commit: the sources are modified.
set(COMMIT "")
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse HEAD
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(COMMIT ${head})
    execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} diff --quiet HEAD ERROR_QUIET RESULT_VARIABLE changed)
    if(changed)
      string(APPEND COMMIT "+")
    endif()
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
