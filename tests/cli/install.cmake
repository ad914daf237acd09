# Installs into an empty prefix below the build folder, adds an entry to the installed catalogue that
# the source tree does not have, and asks the installed program for it from another folder.
set(root ${BUILD_DIR}/install-test)
file(REMOVE_RECURSE ${root})
file(MAKE_DIRECTORY ${root}/elsewhere)

function(run_checked output)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${root}/elsewhere
                  RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: exit code ${code}\n${out}${err}")
  endif()
  set(${output} "${out}" PARENT_SCOPE)
endfunction()

run_checked(ignored ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${root}/prefix
            --config "${CONFIG}")

foreach(kind models gpus)
  file(GLOB installed ${root}/prefix/share/headway/${kind}/*.json)
  list(LENGTH installed count)
  if(count LESS 7)
    message(FATAL_ERROR "only ${count} files in share/headway/${kind}")
  endif()
endforeach()

file(READ ${root}/prefix/share/headway/models/llama-2-7b.json text)
string(REPLACE "\"llama-2-7b\"" "\"installed-only\"" text "${text}")
file(WRITE ${root}/prefix/share/headway/models/installed-only.json "${text}")
run_checked(listed ${root}/prefix/bin/headway list models)
if(NOT listed MATCHES "installed-only")
  message(FATAL_ERROR "the installed program does not read its own data folder:\n${listed}")
endif()

# What a user looks for beside the program, and a run from a folder that knows nothing of it.
foreach(file share/man/man1/headway.1 share/bash-completion/completions/headway
        share/zsh/site-functions/_headway share/fish/vendor_completions.d/headway.fish
        share/doc/headway/copyright)
  file(SIZE ${root}/prefix/${file} size)
  if(size LESS 500)
    message(FATAL_ERROR "${file} is nearly empty")
  endif()
endforeach()
run_checked(block ${root}/prefix/bin/headway run demo --limit 50 -q)
if(NOT block MATCHES "Successful requests: +50")
  message(FATAL_ERROR "the installed program does not run the demo:\n${block}")
endif()

# A prefix may be moved.
file(RENAME ${root}/prefix ${root}/moved)
run_checked(listed ${root}/moved/bin/headway list models)
if(NOT listed MATCHES "installed-only")
  message(FATAL_ERROR "a moved prefix is not found:\n${listed}")
endif()
file(REMOVE_RECURSE ${root})
