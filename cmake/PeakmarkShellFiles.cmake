# Completion and manual pages: printed by the built program, and installed where shells and man search.
if(PEAKMARK_SANITIZE)
  return()  # sanitizer builds are not installed
endif()
set(completion ${PROJECT_BINARY_DIR}/share/completion)
set(manual ${PROJECT_BINARY_DIR}/share/man/man1)
add_custom_command(OUTPUT ${completion}/_peakmark
  COMMAND ${CMAKE_COMMAND} -E make_directory ${completion}
  COMMAND peakmark completion bash > ${completion}/peakmark
  COMMAND peakmark completion fish > ${completion}/peakmark.fish
  COMMAND peakmark manual --all ${manual}
  COMMAND peakmark completion zsh > ${completion}/_peakmark
  DEPENDS peakmark VERBATIM)
add_custom_target(peakmark_shell_files ALL DEPENDS ${completion}/_peakmark)
install(FILES ${completion}/peakmark DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completion}/_peakmark DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completion}/peakmark.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN peakmark*.1)
