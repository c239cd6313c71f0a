#!/usr/bin/env python3
"""chakra_traces.py FOLDER  writes the Chakra execution traces of tests/data, as protocol buffers and as JSON

The independent side of the tests of the reader: messages are laid out by protobuf's own Python package (pip install
protobuf), and JSON is what its `json_format` makes of them, as MLCommons' jsonizer does. The schema is MLCommons'
`et_def.proto`, stated here by names and numbers. Two traces are of public workloads of ASTRA-sim in its text format (layer,
microseconds and bytes forward, of the input's gradient and of the weight's gradient; MIT licence), with the dependencies
that MLCommons' converter gives them: `examples/text_converter/text_workloads/Resnet50_DataParallel.txt`, and the one that
the published trace `mlp_data_model.json` (chakra-demo/demo2/MLP_D_M.1.json of UPC-Qualcomm/astra-sim-opt) holds itself.
"""
import json
import pathlib
import random
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

FIELD = descriptor_pb2.FieldDescriptorProto
VALUES = ["double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
          "sfixed64", "bool", "string", "bytes"]
TYPES = ["INVALID_NODE", "METADATA_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE", "COMM_SEND_NODE",
         "COMM_RECV_NODE", "COMM_COLL_NODE"]
ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER = 0, 2, 6, 7
COLLECTIVES = {"ALLREDUCE": ALL_REDUCE, "ALLGATHER": ALL_GATHER, "ALLTOALL": ALL_TO_ALL, "REDUCESCATTER": REDUCE_SCATTER}


def schema():
    file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="ChakraProtoMsg", syntax="proto3")

    def message(name):
        return file.message_type.add(name=name)

    def field(of, name, number, kind, repeated=False, type_name=None, oneof=None, packed=None):
        f = of.field.add(name=name, number=number, type=getattr(FIELD, "TYPE_" + kind.upper()),
                         label=FIELD.LABEL_REPEATED if repeated else FIELD.LABEL_OPTIONAL)
        if type_name:
            f.type_name = ".ChakraProtoMsg." + type_name
        if oneof is not None:
            f.oneof_index = oneof
        if packed is not None:
            f.options.packed = packed

    attribute = message("AttributeProto")
    attribute.oneof_decl.add(name="value")
    field(attribute, "name", 1, "string")
    field(attribute, "doc_string", 2, "string")
    for i, kind in enumerate(VALUES):
        numbers = message(kind.capitalize() + "List")
        field(numbers, "values", 1, kind, repeated=True)
        field(attribute, kind + "_val", 3 + 2 * i, kind, oneof=0)
        field(attribute, kind + "_list", 4 + 2 * i, "message", type_name=numbers.name, oneof=0)
    run = message("GlobalMetadata")
    field(run, "version", 1, "string")
    field(run, "attr", 2, "message", repeated=True, type_name="AttributeProto")
    old_run = message("OldGlobalMetadata")
    field(old_run, "attr", 1, "message", repeated=True, type_name="AttributeProto")
    node_type = file.enum_type.add(name="NodeType")
    for i, name in enumerate(TYPES):
        node_type.value.add(name=name, number=i)
    info = message("IOInfo")
    for i, name in enumerate(["values", "shapes", "types"]):
        field(info, name, i + 1, "string")
    for name, packed in (("Node", True), ("UnpackedNode", False)):
        node = message(name)
        field(node, "id", 1, "uint64")
        field(node, "name", 2, "string")
        field(node, "type", 3, "enum", type_name="NodeType")
        field(node, "ctrl_deps", 4, "uint64", repeated=True, packed=packed)
        field(node, "data_deps", 5, "uint64", repeated=True, packed=packed)
        field(node, "start_time_micros", 6, "uint64")
        field(node, "duration_micros", 7, "uint64")
        field(node, "inputs", 8, "message", type_name="IOInfo")
        field(node, "outputs", 9, "message", type_name="IOInfo")
        field(node, "attr", 10, "message", repeated=True, type_name="AttributeProto")
        field(node, "later", 11, "message", type_name="IOInfo")  # what a newer schema may add
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {m.name: message_factory.GetMessageClass(pool.FindMessageTypeByName("ChakraProtoMsg." + m.name))
            for m in file.message_type}


CLASSES = schema()
Node, Run, OldRun = CLASSES["Node"], CLASSES["GlobalMetadata"], CLASSES["OldGlobalMetadata"]
Attribute = CLASSES["AttributeProto"]


def write(folder, name, run, nodes):
    """NAME.et, each message behind its length; NAME.json, one value after the other."""
    def length(n):
        out = bytearray()
        while n > 0x7F:
            out.append(n & 0x7F | 0x80)
            n >>= 7
        return bytes(out + bytes([n]))

    with open(folder / (name + ".et"), "wb") as out:
        for m in [run, *nodes]:
            text = m.SerializeToString()
            out.write(length(len(text)) + text)
    with open(folder / (name + ".json"), "w") as out:
        out.write("".join(json_format.MessageToJson(m) for m in [run, *nodes]))


class Layers:
    """One pass over the layers of a workload in ASTRA-sim's text format."""

    def __init__(self, text, first_id=0):
        self.text, self.nodes, self.next = text, [], first_id
        lines = text.splitlines()
        self.rows = [line.split() for line in lines[2:] if line.split()]

    def add(self, name, kind, deps, **fields):
        node = Node(id=self.next, name=name, type=kind, data_deps=[d.id for d in deps], **fields)
        self.next += 1
        self.nodes.append(node)
        return node

    def compute(self, row, phase, column, deps):
        return self.add(f"COMP_NODE_{row[0]}_{phase}", "COMP_NODE", deps, duration_micros=int(row[column]))

    def communicate(self, row, label, column, deps):
        node = self.add(f"COMM_COLL_NODE_{label}_{row[column]}", "COMM_COLL_NODE", deps)
        node.attr.append(Attribute(name="comm_type", int64_val=COLLECTIVES[row[column]]))
        node.attr.append(Attribute(name="comm_size", int64_val=int(row[column + 1])))
        return node

    def data_parallel(self):
        before = []
        for row in self.rows:
            before = [self.compute(row, "FWD", 2, before)]
        for row in reversed(self.rows):
            weight = self.compute(row, "BWD_WG", 8, before)
            self.communicate(row, row[0], 9, [weight])
            if row is not self.rows[0]:
                before = [self.compute(row, "BWD_IG", 5, [weight])]
        return self.nodes

    def hybrid_data_model(self):
        before = []
        for row in self.rows:
            before = [self.communicate(row, row[0], 3, [self.compute(row, "FWD", 2, before)])]
        for row in reversed(self.rows):
            inputs = self.compute(row, "BWD_IG", 5, before)
            reduced = None
            if row is not self.rows[0]:
                reduced = self.communicate(row, row[0] + "_IG_COMM_", 6, [inputs])
            weight = self.compute(row, "BWD_WG", 8, [inputs])
            self.communicate(row, row[0], 9, [weight])
            before = [weight, reduced]
        return self.nodes


def run_of(text):
    return OldRun(attr=[Attribute(name="schema", string_val="1.0.2-chakra.0.0.4"),
                        Attribute(name="input_file", string_val=text)])


def flat(nodes):
    """The form that the feeder of JSON reads."""
    result = []
    for n in nodes:
        one = {"Id": n.id, "Name": n.name, "NodeType": n.type, "is_cpu_op": False, "runtime": n.duration_micros,
               "data_deps": list(n.data_deps)}
        for a in n.attr:
            one[a.name] = a.int64_val
        result.append(one)
    return {"workload_graph": result}


def every_field(seed):
    """Nodes of every type in any order, with every type of attribute, lists and fields that a reader passes over."""
    dice = random.Random(seed)
    nodes = []
    ids = [dice.randrange(2**63, 2**64) for _ in range(8)] + dice.sample(range(1000), 32)
    groups = json.dumps([{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "ranks": [],
                          "group_size": 16, "group_count": 3},
                         {"pg_name": "7", "ranks": [0, 8], "group_size": 2}])
    for i, number in enumerate(ids):
        kind = dice.choice(TYPES[1:]) if i > 0 else "METADATA_NODE"
        node = CLASSES[dice.choice(["Node", "UnpackedNode"])](id=number, name=f"{kind} {i} äöü \u00b5", type=kind)
        node.data_deps.extend(dice.sample(ids[:i], min(i, dice.randrange(3))))
        node.ctrl_deps.extend(dice.sample(ids[:i], min(i, dice.randrange(2))))
        node.start_time_micros = dice.randrange(1, 2**40)
        node.duration_micros = dice.randrange(1, 10**dice.randrange(1, 8))
        for part in (node.inputs, node.outputs, node.later):
            part.values = str([groups]) if i == 0 else "[[1, 2, 0, 4, 4, 'cuda:0']]"
            part.shapes, part.types = "[[2, 2]]", "['Tensor(float)']"
        if i == 0:
            node.name = "## process_group:init ##"
        whole = ["int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"]

        def number_of(name, value):
            node.attr.append(Attribute(name=name, doc_string="", **{dice.choice(whole) + "_val": value}))

        node.attr.append(Attribute(name="is_cpu_op", **dice.choice([{"bool_val": dice.random() < 0.3},
                                                                     {"int32_val": dice.randrange(2)}])))
        if kind.startswith("COMM"):
            number_of("comm_size", dice.randrange(1, 2**31))
            number_of("comm_type", dice.randrange(10))
            number_of("comm_src", dice.randrange(16))
            number_of("comm_dst", dice.randrange(16))
            node.attr.append(Attribute(name="pg_name", **dice.choice([{"string_val": "7"}, {"int32_val": 0}])))
        else:
            number_of("tensor_size", dice.randrange(2**31))
            node.attr.append(Attribute(name="num_ops", **dice.choice([{"double_val": 2.0**40}, {"uint64_val": 2**50},
                                                                       {"float_val": 2.0**20}])))
            node.attr.append(Attribute(name="op_type", string_val=dice.choice("MAE")))
        for kind_of in VALUES:  # of other names
            value = {"string": "text", "bytes": b"\0\xff", "bool": True, "double": -0.5, "float": 0.25}.get(kind_of, 3)
            node.attr.append(Attribute(name="other " + kind_of, **{kind_of + "_val": value}))
            values = CLASSES[kind_of.capitalize() + "List"](values=[value, value])
            node.attr.append(Attribute(name="others", **{kind_of + "_list": values}))
        nodes.append(node)
    dice.shuffle(nodes)
    return Run(version="0.0.4", attr=[Attribute(name="rank", int64_val=0)]), nodes


MLP = ("HYBRID_DATA_MODEL" + "\t" * 11 + "\n6" + "\t" * 11 + "\n") + "\n".join(
    f"layer_64_2_mlp{i}\t-1\t{us}\tALLGATHER\t{size}\t{us}\tALLREDUCE\t{size}\t{us}\tALLREDUCE\t{size}\t{update}"
    for i, (us, size, update) in enumerate([(32291, 37632, 3229), (7488, 65536, 749), (7488, 65536, 749),
                                            (14144, 147456, 1414), (7488, 65536, 749), (9984, 65536, 998)]))


def resnet50():
    """54 layers: microseconds forward, of the input's and of the weight's gradient, bytes of the weight's gradient."""
    conv = {
        64: ([(3456, 3648, 7488, 65536), (3456, 3456, 7488, 16384), (10944, 10368, 14144, 147456),
              (3456, 3648, 7488, 65536)], (3648, 3456, 9984, 65536), 3),
        128: ([(2592, 2592, 6144, 524288), (3648, 3520, 9984, 131072), (6480, 5840, 6656, 589824),
               (2336, 2592, 5120, 262144)], (2592, 2336, 4096, 262144), 4),
        256: ([(5664, 5664, 3856, 2097152), (3539, 3146, 4096, 524288), (6372, 6372, 2756, 2359296),
               (2832, 3539, 2832, 1048576)], (3539, 2832, 1476, 1048576), 6),
        512: ([(17952, 17952, 10632, 8388608), (14156, 12583, 2952, 2097152), (20196, 20196, 9826, 9437184),
               (8976, 14156, 6536, 4194304)], (14156, 8976, 4706, 4194304), 3),
    }
    last_forward = {128: 3146, 256: 12583, 512: 12288}  # of a stage's last layer
    rows = [("conv1", 13003, 12864, 32291, 37632)]
    for width, (first, again, blocks) in conv.items():
        for block in range(1, blocks + 1):
            layers = list(zip((4, 1, 2, 3), first)) if block == 1 else list(zip((1, 2, 3), [again, *first[2:]]))
            for i, row in layers:
                forward = last_forward.get(width, row[0]) if (block, i) == (blocks, 3) else row[0]
                rows.append((f"layer_{width}_{block}_conv{i}", forward, *row[1:]))
    rows.append(("fc1000", 16416, 27708, 9220, 8192000))
    return "DATA\n54\n" + "\n".join(
        f"{name}\t-1\t{forward}\tNONE\t0\t{inputs}\tNONE\t0\t{weight}\tALLREDUCE\t{size}\t{(weight + 5) // 10}"
        for name, forward, inputs, weight, size in rows)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    mlp = Layers(MLP, 35).hybrid_data_model()
    write(folder, "mlp_data_model", run_of(MLP), mlp)
    with open(folder / "mlp_data_model_flat.json", "w") as out:
        json.dump(flat(mlp), out)
    write(folder, "resnet50_data_parallel", run_of(resnet50()), Layers(resnet50()).data_parallel())
    write(folder, "every_field", *every_field(1))


main()
