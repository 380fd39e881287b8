# Programs that use the library as others would: the shared one, through public headers alone.
# Each is built and run as a test (example_<name>).
file(GLOB sources CONFIGURE_DEPENDS examples/*.c examples/*.cc)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  set(name example_${name})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE engram_shared m)
  set(out ${PROJECT_BINARY_DIR}/examples/${name})
  add_test(NAME ${name} COMMAND sh -c "rm -rf ${out} && mkdir -p ${PROJECT_BINARY_DIR}/examples && $<TARGET_FILE:${name}> ${out}")
  eg_label(${name})
endforeach()
