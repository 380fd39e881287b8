# Builds every source of a folder that is no test, and none of those named after it.
function(eg_folder folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c
                                      ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_test\\.c$")
  foreach(other IN LISTS ARGN)
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/${folder}/${other})
  endforeach()
  target_sources(engram PRIVATE ${sources})
endfunction()

# Builds a family's folder: one <name>.c for every X(name...) line of its list, and what they
# share. The list is all of the registration; a line without a file stops the configure.
function(eg_family folder list)
  set(list ${PROJECT_SOURCE_DIR}/${list})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^X\\(")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^X\\(([a-z0-9_]+).*" "\\1" name "${line}")
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${folder}/${name}.c)
      message(FATAL_ERROR "${list} names ${name}, but ${folder}/${name}.c is not there")
    endif()
  endforeach()
  eg_folder(${folder})
endfunction()

# Tells a source of a target the version, and in commit.h the commit, as it is in every build.
function(eg_version_of target source)
  set(header ${PROJECT_BINARY_DIR}/commit/commit.h)
  add_custom_target(commit BYPRODUCTS ${header}
                    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DHEADER=${header}
                            -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake)
  add_dependencies(${target} commit)
  set_property(SOURCE ${source} APPEND PROPERTY INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/commit)
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
               ENGRAM_VERSION="${PROJECT_VERSION}")
endfunction()

# Compiles the vector kernels once for an instruction set: eg_kernels(COPY SET CONTRACT FLAGS...).
# Two copies may be of one set. CONTRACT is fast where a product may be fused with a sum, else off.
function(eg_kernels isa set contract)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/engine/simd/*.c)
  add_library(kernels_${isa} OBJECT ${sources})
  set_target_properties(kernels_${isa} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(kernels_${isa} PRIVATE src include)
  target_compile_definitions(kernels_${isa} PRIVATE EG_ISA=${isa} EG_ISA_NAME=${set})
  set(level -O3)
  if(EG_SANITIZE) # with its checks in them, loops that are unrolled by hand take minutes at -O3;
                  # what AddressSanitizer finds too is not checked a second time at every load
    set(level -O2 -fno-sanitize=null -fno-sanitize=object-size -fno-sanitize=pointer-overflow)
  endif()
  if(CMAKE_C_COMPILER_ID MATCHES Clang) # does not know ivdep, and looks at the pointers instead
    list(APPEND level -Wno-unknown-pragmas)
  endif()
  # Without traps and errno a condition may become a blend; no value changes.
  target_compile_options(kernels_${isa} PRIVATE ${level} -ffp-contract=${contract} -fno-trapping-math
                         -fno-math-errno -Wno-psabi ${ARGN})
  target_sources(engram PRIVATE $<TARGET_OBJECTS:kernels_${isa}>)
  set(EG_KERNELS ${EG_KERNELS} $<TARGET_OBJECTS:kernels_${isa}> PARENT_SCOPE)
endfunction()
