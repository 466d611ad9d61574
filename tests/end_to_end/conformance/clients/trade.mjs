// A stranger hires with a published TypeScript client: it reads, follows next_steps, and receives the output in five tool calls.
// usage: node trade.mjs <url> <wallet url> v1 | v2 [auto]
import assert from 'node:assert/strict';

const [, , url, walletUrl, which, mode] = process.argv;
const MAX_CALLS = 5;
const MAX_SECONDS = 60;

async function connect() {
  if (which === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client({ name: 'stranger', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const client = new Client({ name: 'stranger', version: '1' }, mode ? { versionNegotiation: { mode } } : {});
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

async function wallet(what, body = {}) {
  const answer = await fetch(`${walletUrl}/${what}`, { method: 'POST', body: JSON.stringify(body) });
  assert.equal(answer.status, 200);
  return answer.json();
}

const began = Date.now();
const client = await connect();
const { tools } = await client.listTools();
const { address } = await wallet('new');
let calls = 0;
let key;

async function call(name, given) {
  assert.ok(tools.some((tool) => tool.name === name), `${name} is not listed`);
  calls += 1;
  const result = await client.callTool({ name, arguments: key ? { ...given, api_key: key } : given });
  assert.ok(!result.isError, result.content[0].text);
  return result.structuredContent;
}

const stepOf = (record, action) => record.next_steps.find((one) => one.action === action);

const found = await call('search_listings', { q: 'count words', env: 'test' });
const order = found.data[0].how_to_order;
const made = await call('register_agent', { name: 'Stranger' });
key = made.api_keys.test;

const bind = stepOf(made, 'set_wallet_address');
const [, text] = bind.arguments.signature.match(/^<personal_sign by it of (.*)>$/);
const signed = await wallet('sign', { address, text: text.replace('<address in lower case>', address.toLowerCase()) });
await call(bind.tool, { address, signature: signed.signature });

const hired = await call(order.tool, { ...order.body_example, input: { text: 'agents hire agents' } });
assert.ok(hired.terms, `no terms yet: the job is ${hired.job.status}`);
const pay = stepOf(hired, 'pay');
const sent = await wallet('send', { address, to: hired.terms.pay_to, amount: hired.terms.amount });
const paid = await call(pay.tool, { ...pay.arguments, transaction: sent.hash });
assert.deepEqual(paid.output, { words: 3, longest: 'agents' });
await client.close();

assert.ok(calls <= MAX_CALLS, `${calls} calls`);
assert.ok(Date.now() - began < MAX_SECONDS * 1000, 'it took a minute');
console.log(`Total: ${calls} calls to the revealed output`);
