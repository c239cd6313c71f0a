#!/usr/bin/env python3
"""spack_recipe.py SOURCE_DIR  runs the recipe of Spack without Spack: its directives are doubles that record

Checks the version, that every variant is used, and that the options which the recipe hands to CMake are those of
CMakeLists.txt, for all variants on and all off: no component is left to what is on the machine.
"""
import pathlib
import re
import sys
import types

root = pathlib.Path(sys.argv[1])
said = {"version": [], "variant": [], "depends_on": [], "conflicts": [], "license": []}
variants = {}


class CMakePackage:
    def define(self, name, value):
        return f"-D{name}:BOOL={'ON' if value else 'OFF'}"

    def define_from_variant(self, name, variant=None):
        asked.add(variant)
        return self.define(name, variants[variant])


module = types.ModuleType("spack.package")
module.CMakePackage = CMakePackage
for name in said:
    setattr(module, name, lambda *args, _name=name, **options: said[_name].append((args, options)))
sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), module
recipe = {}
exec(compile((root / "docs/packaging/spack/package.py").read_text(), "package.py", "exec"), recipe)

header = (root / "include/shardweave/version.hpp").read_text()
stated = ".".join(re.search(rf"#define SHARDWEAVE_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))
assert said["version"][0][0][0] == stated, f"the recipe is of {said['version'][0][0][0]}, expected {stated}"
build = (root / "CMakeLists.txt").read_text()
names = [args[0] for args, _ in said["variant"]]
assert len(names) > 2, names
for value in (True, False):
    variants.update({name: value for name in names})
    asked = set()
    options = recipe["Shardweave"]().cmake_args()
    assert asked == set(names), f"variants {set(names) ^ asked} change nothing"
    for option in options:
        name, switch = re.fullmatch(r"-D(\w+):BOOL=(ON|OFF)", option).groups()
        component = re.fullmatch(r"SHARDWEAVE_WITH_(\w+)", name)
        is_variant = component and component[1].lower() in names
        assert re.search(rf"option\({name}\b", build), f"CMakeLists.txt has no {name}"
        assert switch == ("ON" if value and is_variant else "OFF"), option
    stated = {option[2:].split(":")[0] for option in options}
    left = set(re.findall(r"option\((SHARDWEAVE_WITH_\w+)", build)) - stated
    assert not left, f"the recipe does not say {left}"
for args, options in said["depends_on"]:
    wanted = re.fullmatch(r"\+(\w+)", options["when"]) if "when" in options else None
    assert wanted is None or wanted[1] in names, f"{args[0]} is needed for {options['when']}, which is no variant"
print(f"{len(names)} variants, {len(said['depends_on'])} dependencies, all known")
