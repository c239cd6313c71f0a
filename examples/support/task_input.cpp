#include "task_input.hpp"

#include "collective_models.hpp"
#include "program.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/io/task_file.hpp>

namespace programs {

shardweave::task_graph task_input::read() const {
  namespace sw = shardweave;
  return about(file, [&] {
    if (sw::task_format_of(file) == sw::task_format::shardweave) {
      if (!device.empty() || ranks > 0)
        sw::refuse(sw::error_category::input,
                   std::string(device.empty() ? "--group-ranks" : "--priced-on") +
                       " is for Chakra traces, found shardweave.tasks, where each task states its duration");
      return sw::read_task_graph(file);
    }
    sw::chakra_options options{.ranks = ranks};
    if (!device.empty()) {
      const sw::device_profile named = sw::find_device(device);
      options.prices = {
          .compute = {.device = named},
          .collectives = make_collective_model(collective_models().front().name,
                                               {.device = named, .node = [&] { return sw::nccl_node_of(named); }})};
    }
    return sw::read_any_task_graph(file, options);
  });
}

}  // namespace programs
