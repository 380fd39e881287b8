# Writes HEADER, which tells the commit that SOURCE is at: "1a2b3c4", with "-dirty" where what the
# program is made of differs from it, or "" where there is no git. Run in every build; the header
# is touched only when that changes.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short HEAD OUTPUT_VARIABLE commit
                RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed OR NOT EXISTS ${SOURCE}/.git)
  set(commit "")
else()
  execute_process(COMMAND git -C ${SOURCE} diff --quiet HEAD -- src include cli cmake CMakeLists.txt
                  RESULT_VARIABLE changed ERROR_QUIET)
  if(changed)
    string(APPEND commit "-dirty")
  endif()
endif()
set(text "#define ENGRAM_COMMIT \"${commit}\"\n")
set(written "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} written)
endif()
if(NOT text STREQUAL written)
  file(WRITE ${HEADER} ${text})
endif()
