#!/usr/bin/env bash
# Installs the real MCP servers that the end-to-end tests speak to, in the versions
# pinned beside this script, into the folder given (default: .cache/peers).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
to=${1:-$here/../../.cache/peers}
mkdir -p "$to"
to=$(cd "$to" && pwd)

pins=$(cat "$here"/package-lock.json "$here"/requirements.txt "$here"/gosdk/* | sha256sum)
if [[ -f $to/pins && $(<"$to/pins") == "$pins" ]]; then
  echo "peers: $to is up to date"
  exit 0
fi
rm -f "$to/pins"

cp "$here/package.json" "$here/package-lock.json" "$to/"
npm ci --prefix "$to" --ignore-scripts --no-fund --no-audit

python3 -m venv --clear "$to/venv"
"$to/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$here/requirements.txt"
"$to/venv/bin/pip" check --disable-pip-version-check

(cd "$here/gosdk" && go build -o "$to/gosdk" .)

echo "$pins" >"$to/pins"
echo "peers: installed in $to"
