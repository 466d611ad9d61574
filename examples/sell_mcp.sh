#!/bin/sh
# Sell a tool of an MCP server, a command or an HTTP service, each with one line.
#   sell_mcp.sh mcp http://127.0.0.1:9000/mcp area
#   sell_mcp.sh stdio "npx -y @modelcontextprotocol/server-everything stdio" echo
#   sell_mcp.sh run ./handler schema.json
#   sell_mcp.sh http http://127.0.0.1:9001/forecast
set -eu
PATH="$PATH:$(cd "$(dirname "$0")/.." && pwd)/.venv/bin"
export EMPORION_HOME="${EMPORION_HOME:-$HOME/.emporion/sell-mcp}" # one home is one agent, and the buyer is another
command -v emporion-client >/dev/null || { echo "emporion-client is not installed; run: make install" >&2; exit 1; }
case "${1:-} $#" in
  "mcp 3")   exec emporion-client sell-mcp "$2" --tool "$3" --price 0.01 ;;
  "stdio 3") exec emporion-client sell-mcp --run "$2" --tool "$3" --price 0.01 ;;
  "run 3")   exec emporion-client sell --run "$2" --title "Upper case" --price 0.01 --schema "$3" ;;
  "http 2")  exec emporion-client sell --http "$2" --title "Forecast" --price 0.01 ;;
  *)         sed -n "s/^#   /usage: /p" "$0" >&2; exit 2 ;;
esac
