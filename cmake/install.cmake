# `make install PREFIX=DIR`: the program with its manual page and completion, the library with its
# headers, shared and static, the experiments, the documents and the examples.
include(GNUInstallDirs)
file(RELATIVE_PATH EG_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /) # so that the tree can be moved
set(EG_HTTP_LIBS -lcurl)
if(NOT EG_CURL)
  set(EG_HTTP_LIBS "-lmbedtls -lmbedx509 -lmbedcrypto")
endif()
configure_file(cmake/engram.pc.in engram.pc @ONLY)
set(EG_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/engram)
file(RELATIVE_PATH EG_UP_CMAKE /${EG_CMAKE} /)
configure_file(cmake/engramConfig.cmake.in engramConfig.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(engramConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS engram_cli engram engram_shared)
if(TARGET engram_mpi)
  install(TARGETS engram_mpi LIBRARY DESTINATION lib/engram) # where the program looks for it
endif()
install(FILES ${PROJECT_BINARY_DIR}/engramConfig.cmake
              ${PROJECT_BINARY_DIR}/engramConfigVersion.cmake DESTINATION ${EG_CMAKE})
install(DIRECTORY include/engram DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/engram)
install(FILES ${PROJECT_BINARY_DIR}/engram.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# What there is to read.
install(FILES README.md CHANGELOG.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# What the program says about itself.
foreach(form man bash zsh)
  add_custom_command(OUTPUT manual/${form} COMMAND ${CMAKE_COMMAND} -E make_directory manual
                     COMMAND engram_cli help --${form} > manual/${form}
                     DEPENDS engram_cli WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM)
endforeach()
add_custom_target(engram_manual ALL DEPENDS manual/man manual/bash manual/zsh)
add_custom_target(installed DEPENDS engram_cli engram engram_shared engram_manual)
install(FILES ${PROJECT_BINARY_DIR}/manual/man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
        RENAME engram.1)
install(FILES ${PROJECT_BINARY_DIR}/manual/bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME engram)
install(FILES ${PROJECT_BINARY_DIR}/manual/zsh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _engram)
