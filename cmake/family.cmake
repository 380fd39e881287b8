# Builds <folder>/<name>.c for every X(name...) line of a list, so that the list is all of the
# registration. A line without a file stops the configure.
function(eg_family folder list)
  set(list ${PROJECT_SOURCE_DIR}/${list})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^X\\(")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^X\\(([a-z0-9_]+).*" "\\1" name "${line}")
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/${name}.c)
      message(FATAL_ERROR "${list} names ${name}, but ${folder}/${name}.c is not there")
    endif()
    target_sources(engram PRIVATE ${PROJECT_SOURCE_DIR}/${folder}/${name}.c)
  endforeach()
endfunction()

# Builds every source of a folder that is no test and no member of a family.
function(eg_folder folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
  list(FILTER sources EXCLUDE REGEX "_test\\.c$")
  target_sources(engram PRIVATE ${sources})
endfunction()
