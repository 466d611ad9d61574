#!/bin/sh
# Sell a tool of an MCP server, a command or an HTTP service, each with one line.
#   sell_mcp.sh mcp http://127.0.0.1:9000/mcp area
#   sell_mcp.sh stdio "npx -y @modelcontextprotocol/server-everything stdio" echo
#   sell_mcp.sh run ./handler schema.json
#   sell_mcp.sh http http://127.0.0.1:9001/forecast
set -eu
case "$1" in
  mcp)   exec emporion-client sell-mcp "$2" --tool "$3" --price 0.01 ;;
  stdio) exec emporion-client sell-mcp --run "$2" --tool "$3" --price 0.01 ;;
  run)   exec emporion-client sell --run "$2" --title "Upper case" --price 0.01 --schema "$3" ;;
  http)  exec emporion-client sell --http "$2" --title "Forecast" --price 0.01 ;;
esac
