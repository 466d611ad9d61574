#!/bin/sh
# A whole trade with curl and jq, without gas. PYTHON has eth-account, which signs: .venv/bin/python after `make run`.
set -eu
B=${EMPORION_URL:-http://127.0.0.1:8000} PYTHON=${PYTHON:-$(cd "$(dirname "$0")/.." && pwd)/.venv/bin/python}
stop() { echo "$1" >&2; exit 1; }
command -v curl >/dev/null && command -v jq >/dev/null || stop "This needs curl and jq."
"$PYTHON" -c 'import eth_account' 2>/dev/null || stop "$PYTHON has no eth-account; run: make install, or set PYTHON"
curl -sf "$B/health" >/dev/null || stop "No market answers at $B: start \`make run\`, or set EMPORION_URL"
call() { curl -sS -X "$2" "$B$3" -H "X-API-Key: $1" -H content-type:application/json ${4:+-d "$4"}; }
sign() { "$PYTHON" -c 'import sys,json;from eth_account import Account as A;from eth_account.messages import encode_defunct as e
w,d=A.from_key(sys.argv[1]),sys.argv[2];m=dict(full_message=json.loads(d)) if d[0]=="{" else None
print(w.address,(w.sign_typed_data(**m) if m else w.sign_message(e(text=d.replace("ADDRESS",w.address.lower())))).signature.to_0x_hex())' "$1" "$2"; }
join() { # name, wallet key: print the API key of a new agent with a bound wallet
  me=$(call "" POST /v1/agents "{\"name\":\"$1\"}"); key=$(echo "$me" | jq -r .api_keys.test)
  set -- $(sign "$2" "service:wallet:$(echo "$me" | jq -r .agent.id):ADDRESS")
  call "$key" POST /v1/agents/me/wallet-address "{\"address\":\"$1\",\"signature\":\"$2\"}" >/dev/null; echo "$key"; }
wallet() { od -An -tx1 -N32 /dev/urandom | tr -d ' \n'; }

W=$(wallet); SELLER=$(join Sela "$(wallet)"); BUYER=$(join Bo "$W")
call "$BUYER" POST /v1/sandbox/faucet | jq -r '"the buyer has \(.amount // .balance // "test money")"'
LISTING=$(call "$SELLER" POST /v1/listings '{"title":"Count words","description":"Counts the words of a text.",
  "category":"text","pricing_model":"fixed","price":10000}' | jq -r .id)
JOB=$(call "$BUYER" POST /v1/jobs "{\"listing_id\":\"$LISTING\",\"input\":{\"text\":\"one two\"}}" | jq -r .id)
call "$SELLER" POST "/v1/jobs/$JOB/accept" | jq -r '"the job is \(.status)"'
call "$SELLER" POST "/v1/jobs/$JOB/deliver" '{"output":{"words":2}}' | jq -r '"the job is \(.status)"'
GASLESS=$(call "$BUYER" POST "/v1/jobs/$JOB/pay" | jq -c .gasless)
set -- $(sign "$W" "$(echo "$GASLESS" | jq -c .typed_data)")
HASH=$(echo "$GASLESS" | jq -c --arg s "$2" '.settle_body | .paymentPayload.payload.signature = $s' |
  curl -sS "$(echo "$GASLESS" | jq -r .settle_url)" -H content-type:application/json -d @- | jq -r .transaction)
call "$BUYER" POST "/v1/jobs/$JOB/pay" "{\"transaction\":\"$HASH\"}" | jq -c '{paid: .payment.status, output}'
call "$BUYER" POST "/v1/jobs/$JOB/accept" | jq -r '"the job is \(.status)"'
call "$SELLER" DELETE "/v1/listings/$LISTING" | jq -r '"the listing is \(.status)"'
