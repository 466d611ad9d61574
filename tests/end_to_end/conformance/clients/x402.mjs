// A wallet with USDC and no gas buys a service with a published x402 client, used as its README says.
// usage: node x402.mjs <url of the market> @x402/fetch | @x402/axios | x402-fetch | x402-axios
import assert from 'node:assert/strict';
import { createPublicClient, createWalletClient, erc20Abi, http } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';

const [, , market, which] = process.argv;
const OLD = !which.startsWith('@');
const FETCH = which.endsWith('fetch');
const PAID = OLD ? 'x-payment' : 'payment-signature';
const TOLD = OLD ? 'x-payment-response' : 'payment-response';
const FUNDS = 50_000;
const JSON_BODY = { 'content-type': 'application/json' };

const read = async (path) => (await fetch(`${market}${path}`)).json();
const { network } = await read('/v1/payments?env=test');
const { services } = await read('/.well-known/x402?env=test');
const service = services.find((one) => one.tags.includes('json-schema'));
const order = { schema: { type: 'object', required: ['id'] }, documents: [{ id: 1 }, {}] };
const chain = createPublicClient({ chain: baseSepolia, transport: http(network.rpc_hint) });
const library = await import(which);
const decode = library.decodePaymentResponseHeader ?? library.decodeXPaymentResponse;
const { ExactEvmScheme } = await import('@x402/evm/exact/client');
const { SettleResponseSchema } = await import('x402/types'); // version 1's; version 2 publishes none for clients
const axios = (await import('axios')).default;

function client(account) {
  if (OLD) {
    const wallet = createWalletClient({ account, chain: baseSepolia, transport: http(network.rpc_hint) });
    return FETCH
      ? library.wrapFetchWithPayment(noted, wallet)
      : library.withPaymentInterceptor(axios.create(), wallet);
  }
  const config = { schemes: [{ network: 'eip155:*', client: new ExactEvmScheme(account) }] };
  return FETCH
    ? library.wrapFetchWithPaymentFromConfig(noted, config)
    : library.wrapAxiosWithPaymentFromConfig(axios.create(), config);
}

let sent; // the headers of the last request
function noted(input, init) {
  sent = new Headers(init?.headers ?? input.headers);
  return fetch(input, init);
}

// Make one call with the client; return status, headers and JSON of the last answer.
async function post(account, body, headers) {
  if (FETCH) {
    const answer = await client(account)(service.url, { method: 'POST', body, headers });
    return { status: answer.status, headers: answer.headers, told: await answer.json() };
  }
  const answer = await client(account).post(service.url, body, { headers }).catch((error) => {
    assert.ok(error.response, error);
    return error.response;
  });
  sent = new Headers(answer.config.headers);
  return { status: answer.status, headers: new Headers(answer.headers), told: answer.data };
}

const fund = (account, amount) => chain.request({ method: 'dev_faucet', params: [account.address, amount] });

async function funded(amount) {
  const account = privateKeyToAccount(generatePrivateKey());
  if (amount) await fund(account, amount);
  assert.equal(await chain.getBalance(account), 0n);
  return account;
}

const held = ({ address }) =>
  chain.readContract({ address: network.asset.address, abi: erc20Abi, functionName: 'balanceOf', args: [address] });

function checked({ status, headers, told }, account) {
  assert.equal(status, 200, JSON.stringify(told));
  assert.deepEqual(told.output.results.map((one) => one.valid), [true, false]);
  assert.deepEqual([told.paid.payer, told.paid.amount], [account.address, service.price]);
  const settled = decode(headers.get(TOLD));
  if (OLD) SettleResponseSchema.parse(settled);
  const name = OLD ? 'base-sepolia' : network.id;
  const { success, transaction, payer, network: place } = settled;
  assert.deepEqual([success, transaction, payer, place], [true, told.paid.transaction, account.address, name]);
  return told;
}

async function again(signed, headers) {
  const answer = await fetch(service.url, { method: 'POST', body: JSON.stringify(order), headers: { ...headers, [PAID]: signed } });
  return { status: answer.status, headers: answer.headers, told: await answer.json() };
}

// Send a browser's preflight for the client's request, and check the headers that a page may send and read.
async function inBrowser(headers) {
  const own = ['host', 'content-length', 'user-agent', 'accept', 'accept-encoding', 'connection'];
  const names = [...headers.keys()].filter((name) => !own.includes(name));
  assert.ok(names.includes(PAID) && names.includes('content-type'), names.join());
  const asked = { origin: 'http://localhost:3000', 'access-control-request-method': 'POST', 'access-control-request-headers': names.join() };
  const allowed = await fetch(service.url, { method: 'OPTIONS', headers: asked });
  const listed = (answer, header) => (answer.headers.get(header) ?? '').toLowerCase().split(/, ?/);
  assert.ok(allowed.ok, String(allowed.status));
  assert.equal(allowed.headers.get('access-control-allow-origin'), '*');
  assert.ok(listed(allowed, 'access-control-allow-methods').includes('post'));
  for (const name of names) assert.ok(listed(allowed, 'access-control-allow-headers').includes(name), name);
  const quoted = await fetch(service.url, { method: 'POST', headers: { origin: asked.origin } });
  assert.equal(quoted.status, 402);
  for (const name of ['payment-required', TOLD]) assert.ok(listed(quoted, 'access-control-expose-headers').includes(name), name);
}

const account = await funded(FUNDS);
const first = checked(await post(account, JSON.stringify(order), JSON_BODY), account);
const signed = sent.get(PAID);
assert.ok(signed);
await inBrowser(sent);
const repeated = checked(await again(signed, JSON_BODY), account);
assert.deepEqual([repeated.job_id, repeated.output, repeated.paid], [first.job_id, first.output, first.paid]);
assert.equal(await held(account), BigInt(FUNDS - service.price));

// fetch sends bytes without a content-type; axios is configured to send none
const bare = checked(await post(account, new TextEncoder().encode(JSON.stringify(order)), FETCH ? {} : { 'Content-Type': null }), account);
assert.ok(!sent.has('content-type'), sent.get('content-type'));
assert.notEqual(bare.job_id, first.job_id);
assert.equal(await held(account), BigInt(FUNDS - 2 * service.price));

const poor = await funded(0);
const refused = await post(poor, JSON.stringify(order), JSON_BODY);
assert.equal(refused.status, 402);
assert.match(refused.told.error, /insufficient/);
assert.match(refused.told.hint, /Put USDC into it/);
await fund(poor, service.price); // as the hint says; then the refused payment is accepted
checked(await again(sent.get(PAID), JSON_BODY), poor);
assert.equal(await held(poor), 0n);

console.log('Total: 3 bought, 1 repeated, 1 refused for want of USDC');
