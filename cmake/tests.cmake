# Tests are found by their names, so there is no list to keep:
#
#   x_test.c            beside the source or under tests/; runs in `make test` (label fast)
#   x_slow_test.c       runs in `make test-slow` only (label slow)
#   x_threaded_test.c   also runs under ThreadSanitizer in `make test-slow` (label threaded)
#   x_test.sh           a script under tests/ (label fast); $1 is the build folder;
#                       exit 77: what it tests with is not installed
#   cli/x.sh            what the program prints, in x.out; cli_test.sh runs them all
#   fuzz/x_fuzz.c       a fuzz target; replays tests/fuzz/corpus/x (label fast)
enable_testing()
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
add_custom_target(threaded) # all that the ThreadSanitizer preset needs to build

# Tests that take long under sanitizers. There they are labelled long, and `make test-slow` runs
# them; `make test` has the same kernels and networks sanitized in op_test, layout_test, chain_test,
# winograd_batched_test, model_test and golden_generator_test, the same methods and transports in
# fed_test and cluster_threaded_test.
set(long_sanitized portable_test winograd_test winograd_test_avx2 golden_model_test golden_model_test_avx2
                   model_test_avx2 generator_test bits_test pretrain_test mpi_test cli_test
                   pairs_test documents_test identity_test poison_test made_rows_test
                   shared_steps_threaded_test devices_cli_test detection_test pfedgrp_test)
# The longest first, so that no core waits for one of them at the end. ctest learns this by itself,
# but only in its second run.
set(long_first fed_test bits_test pairs_test cli_test winograd_test winograd_test_avx2
               golden_model_test golden_model_test_avx2 report_page_test plan_test mpi_test
               fleet_test poison_test python_test malicious_server_test documents_test)

# Labels a test by the words in its name, or as it is told.
function(eg_label name)
  set(labels fast)
  set(timeout 900)
  if(name MATCHES "_slow_" OR "slow" IN_LIST ARGN)
    set(labels slow)
    set(timeout 1800)
  elseif(EG_SANITIZE AND name IN_LIST long_sanitized)
    set(labels long)
    set(timeout 1800)
  endif()
  if(name IN_LIST long_first)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
  if(name MATCHES "_threaded_")
    list(APPEND labels threaded)
    add_dependencies(threaded ${name})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${timeout})
endfunction()

add_library(unsynced OBJECT tests/unsynced.c)

# Builds one test program and registers it.
function(eg_test source)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE src tests)
  target_link_libraries(${name} PRIVATE engram PkgConfig::CMOCKA)
  if(NOT name MATCHES "_slow_") # some of these measure what a commit takes
    target_link_libraries(${name} PRIVATE unsynced)
    target_link_options(${name} PRIVATE -Wl,--wrap=fsync)
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  eg_label(${name})
endfunction()

file(GLOB_RECURSE sources CONFIGURE_DEPENDS src/*_test.c tests/*_test.c)
foreach(source IN LISTS sources)
  eg_test(${source})
endforeach()

# plan_run_test counts the allocations of our own objects; shared libraries are not led astray.
foreach(call malloc calloc realloc aligned_alloc posix_memalign free)
  target_link_options(plan_run_test PRIVATE -Wl,--wrap=${call})
endforeach()

# lost_test has a transport of its own; border_test reads what goes to clients and back;
# message_test sees how much memory is asked for.
target_link_options(message_test PRIVATE -Wl,--wrap=eg_alloc)
target_link_options(lost_test PRIVATE -Wl,--wrap=eg_transport_find)
target_link_options(fedcil_run_test PRIVATE -Wl,--wrap=eg_acgan_learn)
target_link_options(fedcil_test PRIVATE -Wl,--wrap=eg_generator_teach)
target_link_options(border_test PRIVATE -Wl,--wrap=send -Wl,--wrap=recv)

# golden_generator_test and golden_fedcil_test break rules on purpose.
target_link_options(golden_generator_test PRIVATE -Wl,--wrap=eg_gradients
                    -Wl,--wrap=eg_leaky_relu_back -Wl,--wrap=eg_softmax)
target_link_options(golden_fedcil_test PRIVATE -Wl,--wrap=eg_kl_divergence
                    -Wl,--wrap=eg_bce_with_logits)
# golden_fedcil_server_test gives the server its streams and a worker, and takes its notes.
target_link_options(golden_fedcil_server_test PRIVATE -Wl,--wrap=eg_server_share
                    -Wl,--wrap=eg_piece_stream -Wl,--wrap=eg_server_stream
                    -Wl,--wrap=eg_server_note -Wl,--wrap=eg_server_moment)

# Registers a test once more for an instruction set; where the machine lacks it, it is skipped.
function(eg_test_isa test isa label)
  set(name ${test}_${isa})
  add_test(NAME ${name} COMMAND ${test} ${isa} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  eg_label(${name} ${label})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

foreach(test op_test chain_test layout_test golden_ops_test pooled_test winograd_batched_test
             product_test few_test layers_test linear_test)
  eg_test_isa(${test} avx2 fast)
  eg_test_isa(${test} plain fast)
endforeach()
foreach(test op_test layout_test golden_ops_test layers_test linear_test)
  eg_test_isa(${test} portable fast)
endforeach()
foreach(test plan_test sample_norms_test model_test golden_model_test winograd_test
        golden_generator_test)
  eg_test_isa(${test} avx2 fast)
endforeach()
eg_test_isa(golden_model_test plain slow)
eg_test_isa(golden_model_test portable slow)
eg_test_isa(golden_generator_test portable slow)

file(GLOB scripts CONFIGURE_DEPENDS tests/*_test.sh)
if(EG_SANITIZE) # scripts of tools/, a page's looks, a static program
  list(FILTER scripts EXCLUDE REGEX
       "/(check|data_tool|report_page|reference|package|power_cut|client)_test.sh$")
endif()
foreach(script IN LISTS scripts)
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME ${name} COMMAND ${script} ${PROJECT_BINARY_DIR}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  eg_label(${name})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()

# With libFuzzer a target invents inputs; without, it replays its corpus as a test.
add_custom_target(fuzz)
file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.c)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" corpus ${name})
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE src tests)
  target_link_libraries(${name} PRIVATE engram PkgConfig::CMOCKA)
  add_dependencies(fuzz ${name})
  if(EG_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE tests/fuzz/replay.c)
    add_test(NAME ${name} COMMAND ${name} tests/fuzz/corpus/${corpus}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    eg_label(${name})
  endif()
endforeach()

# Tests of devices and of HTTP once more, with the small HTTP client; what its own tests do not have is slow.
if(TARGET engram_small)
  add_executable(http_small_threaded_test src/io/http_threaded_test.c $<TARGET_OBJECTS:small>)
  target_include_directories(http_small_threaded_test PRIVATE src tests)
  target_link_libraries(http_small_threaded_test PRIVATE engram PkgConfig::CMOCKA ${EG_MBEDTLS})
  add_test(NAME http_small_threaded_test COMMAND http_small_threaded_test
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  eg_label(http_small_threaded_test)
  set(scripts malicious_server_test devices_cli_test identity_test)
  if(EG_SANITIZE) # tls_test.sh has it sanitized
    set(scripts "")
  endif()
  foreach(script IN LISTS scripts)
    string(REPLACE _test _small_test name ${script})
    string(REPLACE _test _slow_test name ${name})
    add_test(NAME ${name} COMMAND tests/${script}.sh ${PROJECT_BINARY_DIR}/small
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    eg_label(${name})
  endforeach()
endif()

# A client for another machine, run by qemu, beside this machine's own, which `make client` built.
if(CMAKE_CROSSCOMPILING AND TARGET engram_client)
  add_test(NAME client_arm_test COMMAND tests/client_test.sh ${PROJECT_SOURCE_DIR}/build/release
           ${PROJECT_BINARY_DIR}/engram-client WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  eg_label(client_arm_test)
endif()
