#!/usr/bin/env bash
# tests/pytorch.sh BUILD: installs examples/pytorch into BUILD/site and runs its tests, where PyTorch is installed.
#
# Environment: SHARDWEAVE_TORCH_PYTHON names the interpreter (default: python3). It needs torch, pytest, nanobind and
# scikit-build-core; where one is missing the tests are skipped, which is said.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$1
python=${SHARDWEAVE_TORCH_PYTHON:-python3}
mkdir -p "$build"
cd "$build"
for module in torch pytest nanobind scikit_build_core; do
  if ! "$python" -c "import $module" >"$build/import.log" 2>&1; then
    echo "skipped: $python cannot import $module (SHARDWEAVE_TORCH_PYTHON names another interpreter)"
    exit 0
  fi
done
"$python" -m pip install --quiet --no-deps --no-build-isolation --upgrade --target "$build/site" \
  --config-settings=build-dir="$build/extension" "$root/examples/pytorch"
export TORCHINDUCTOR_CACHE_DIR=$build/cache TORCHINDUCTOR_COMPILE_THREADS=1
PYTHONPATH=$build/site exec "$python" -m pytest -q -p no:cacheprovider "$root/examples/pytorch/tests"
