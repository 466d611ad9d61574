// A stranger hires with the published JavaScript client of A2A: it reads the card, registers, and receives the artifact
// after five messages. Then it uses all task methods of the client: stream, subscribe, get, list, cancel.
// usage: node a2a.mjs <url> <wallet url> JSONRPC | HTTP+JSON 1.0 | 0.3
import assert from 'node:assert/strict';
import { SendMessageRequest, StreamResponse, Task, taskStateFromJSON } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors';

const [, , url, walletUrl, binding, version] = process.argv;
const MAX_MESSAGES = 5;
const MAX_SECONDS = 60;
const OLD = version === '0.3';
const X402 = 'x402.payment';

async function connect() {
  const card = await new DefaultAgentCardResolver().resolve(url);
  if (OLD) { // the card lists only 1.0, so a client of 0.3 must ask for 0.3
    const [{ url: place }] = card.supportedInterfaces;
    card.supportedInterfaces = [{ url: place, protocolBinding: binding, protocolVersion: version, tenant: '' }];
  }
  const options = { legacyCompat: { enabled: OLD } };
  const transports = [new JsonRpcTransportFactory(options), new RestTransportFactory(options)];
  return [card, await new ClientFactory({ transports, preferredTransports: [binding] }).createFromAgentCard(card)];
}

async function wallet(what, body = {}) {
  const answer = await fetch(`${walletUrl}/${what}`, { method: 'POST', body: JSON.stringify(body) });
  assert.equal(answer.status, 200);
  return answer.json();
}

const began = Date.now();
const [card, client] = await connect();
assert.equal(client.protocolVersion, version);
assert.match(card.description, /"tool".*"arguments".*api_key.*"listing_id".*"input"/s);
const { address } = await wallet('new');
let messages = 0;
let key;

function written(data, more = {}) {
  messages += 1;
  const metadata = { ...(key ? { api_key: key } : {}), ...more.metadata };
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ data }], ...more, metadata };
  return SendMessageRequest.fromJSON({ message });
}

async function call(tool, given) {
  const answer = await client.sendMessage(written({ tool, arguments: given }));
  const record = answer.parts.find((part) => part.content.$case === 'data').content.value;
  assert.ok(!record.error, JSON.stringify(record.error));
  return record;
}

const sent = async (data, more) => Task.toJSON(await client.sendMessage(written(data, more)));
const ours = () => ({ serviceParameters: { 'X-API-Key': key } });
const stepOf = (record, action) => record.next_steps.find((one) => one.action === action);

async function pays(status) {
  const [terms] = status.message.metadata[`${X402}.required`].accepts;
  const { hash } = await wallet('send', { address, to: terms.payTo, amount: Number(terms.amount) });
  return { [`${X402}.status`]: 'payment-submitted', [`${X402}.payload`]: { x402Version: 2, payload: { transaction: hash } } };
}

// --- five messages to the artifact ------------------------------------------------------------------------------------

const made = await call('register_agent', { name: 'Stranger' });
key = made.api_keys.test;
const bind = stepOf(made, 'set_wallet_address');
const [, text] = bind.arguments.signature.match(/^<personal_sign by it of (.*)>$/);
const signed = await wallet('sign', { address, text: text.replace('<address in lower case>', address.toLowerCase()) });
await call(bind.tool, { address, signature: signed.signature });
const found = await call('search_listings', { q: 'count words' });
const order = { ...found.data[0].how_to_order.body_example, input: { text: 'agents hire agents' } };

const hired = await sent(order);
assert.equal(hired.status.state, 'TASK_STATE_INPUT_REQUIRED');
assert.ok(!hired.artifacts?.length, 'nothing is revealed before it is paid');
const paid = await sent({ paid: true }, { taskId: hired.id, metadata: await pays(hired.status) });
assert.deepEqual(paid.artifacts[0].parts[0].data, { words: 3, longest: 'agents' });
assert.equal(paid.status.message.metadata[`${X402}.status`], 'payment-completed');
assert.ok(messages <= MAX_MESSAGES, `${messages} messages`);
const counted = messages;
assert.ok(Date.now() - began < MAX_SECONDS * 1000, 'it took a minute');

// --- tasks ------------------------------------------------------------------------------------------------------------

async function heard(stream, whenBegun = () => {}) {
  const events = [];
  for await (const event of stream) {
    events.push(StreamResponse.toJSON(event));
    if (events.length === 1) await whenBegun(events[0]);
  }
  return events;
}

// In 0.3 the client wraps an answer that is no stream, and has no error classes for HTTP+JSON.
const refused = (kind, reason) => (error) =>
  (error.cause ?? error) instanceof kind || (OLD && binding === 'HTTP+JSON' && error.message.includes(`"${reason}"`));
const last = (events) => (events.at(-1).statusUpdate ?? events.at(-1).task).status;
const subscribed = (id) => client.resubscribeTask({ tenant: '', id }, ours());
const taken = await sent({ action: 'accept' }, { taskId: hired.id });
assert.equal(taken.status.state, 'TASK_STATE_COMPLETED');
await assert.rejects(heard(subscribed(hired.id)), refused(UnsupportedOperationError, 'UNSUPPORTED_OPERATION'));
await assert.rejects(client.cancelTask({ tenant: '', id: hired.id }, ours()), refused(TaskNotCancelableError, 'TASK_NOT_CANCELABLE'));
await assert.rejects(client.getTask({ tenant: '', id: 'job_of_nobody' }, ours()), refused(TaskNotFoundError, 'TASK_NOT_FOUND'));

const streamed = await heard(client.sendMessageStream(written(order)));
const { id } = streamed[0].task;
const states = streamed.map((one) => (one.task ?? one.statusUpdate).status.state);
assert.deepEqual(states.slice(-1), ['TASK_STATE_INPUT_REQUIRED']);
assert.equal(new Set(states).size, states.length, `a state came twice: ${states}`);
assert.ok(last(streamed).message.metadata[`${X402}.required`], 'the last update says what is due');

const revealed = await heard(subscribed(id), async (first) => {
  assert.equal(first.task.id, id);
  await sent({ paid: true }, { taskId: id, metadata: await pays(first.task.status) });
});
const artifact = revealed.find((one) => one.artifactUpdate).artifactUpdate.artifact;
assert.deepEqual(artifact.parts[0].data, { words: 3, longest: 'agents' });
assert.equal(last(revealed).message.metadata[`${X402}.status`], 'payment-completed');

const unwanted = await sent(order);
const cancelled = await heard(subscribed(unwanted.id), async () => {
  const task = Task.toJSON(await client.cancelTask({ tenant: '', id: unwanted.id }, ours()));
  assert.equal(task.status.state, 'TASK_STATE_CANCELED');
});
assert.equal(last(cancelled).state, 'TASK_STATE_CANCELED');

const seen = Task.toJSON(await client.getTask({ tenant: '', id }, ours()));
assert.deepEqual(seen.artifacts[0].parts[0].data, artifact.parts[0].data);
if (!OLD) { // 0.3 has no list
  const asked = { tenant: '', contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined, includeArtifacts: true };
  const { tasks, totalSize } = await client.listTasks(asked, ours());
  assert.deepEqual([totalSize, ...tasks.map((one) => one.id)], [3, unwanted.id, id, hired.id]);
  const one = await client.listTasks({ ...asked, status: taskStateFromJSON('TASK_STATE_CANCELED') }, ours());
  assert.deepEqual(one.tasks.map((task) => task.id), [unwanted.id]);
}
console.log(`Total: ${counted} messages to the artifact, 3 tasks`);
