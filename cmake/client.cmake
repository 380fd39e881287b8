# Programs whose HTTP client is ours over mbedTLS: engram-client, a device alone, linked statically;
# and the whole program once more with a test, so that both HTTP clients pass the same tests. All
# use the library's objects; what they replace of them stands before it when they are linked.
set(small_files ${PROJECT_SOURCE_DIR}/src/io/http_small.c ${PROJECT_SOURCE_DIR}/src/io/tls.c)

# What a device needs of the program, and what it has in place of libraries.
set(client_files cli/client.c src/engine/graph/isa.c src/engine/graph/no_dnnl.c
                 src/io/no_lapack.c ${small_files})
foreach(name budget common join predict option manual screen stop)
  list(APPEND client_files cli/${name}.c)
endforeach()

set(client_libraries "")
foreach(name mbedtls mbedx509 mbedcrypto yaml jansson png jpeg webp z sodium utf8proc)
  find_library(EG_STATIC_${name} lib${name}.a)
  list(APPEND client_libraries ${EG_STATIC_${name}})
endforeach()
if(NOT "${client_libraries}" MATCHES "NOTFOUND" AND NOT EG_SANITIZE AND NOT EG_COVERAGE)
  add_executable(engram_client ${client_files})
  set_target_properties(engram_client PROPERTIES OUTPUT_NAME engram-client)
  target_compile_definitions(engram_client PRIVATE EG_STATIC)
  target_include_directories(engram_client PRIVATE src include)
  add_dependencies(engram_client engram)
  target_link_libraries(engram_client PRIVATE $<TARGET_FILE:engram> ${client_libraries} m)
  # Names are looked up with what is linked in, so the linker's warning of that says nothing new.
  target_link_options(engram_client PRIVATE -static -s -Wl,--gc-sections -Wl,--no-warnings)
endif()

if(EG_CURL AND EG_MBEDTLS_LIBRARY)
  add_library(small OBJECT ${small_files})
  target_include_directories(small PRIVATE src include)
  add_executable(engram_small $<TARGET_OBJECTS:engram_cli> $<TARGET_OBJECTS:small>)
  set_target_properties(engram_small PROPERTIES OUTPUT_NAME engram LINKER_LANGUAGE CXX
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/small)
  target_link_libraries(engram_small PRIVATE engram ${EG_MBEDTLS})
endif()
