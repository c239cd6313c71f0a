# Included by what is given to cmake -C: options with which g++ collects its garbage later, where there is memory, in
# `late_collector`. It spends a tenth to a seventh of its time on that.
cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
math(EXPR heap "${memory} * 1024 / 8")
if(heap GREATER 4194304)
  set(heap 4194304)
endif()
set(late_collector "--param ggc-min-heapsize=${heap}")
