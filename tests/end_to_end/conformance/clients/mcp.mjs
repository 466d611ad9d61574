// A stranger's visit with a published TypeScript client: list, register, call, be refused, read, complete.
// usage: node mcp.mjs <url> v1 | v2 [auto]
import assert from 'node:assert/strict';

const [, , url, which, mode] = process.argv;

async function connect(headers = {}) {
  const requestInit = { headers };
  if (which === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client({ name: 'stranger', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return client;
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const client = new Client({ name: 'stranger', version: '1' }, mode ? { versionNegotiation: { mode } } : {});
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  assert.equal(client.getNegotiatedProtocolVersion(), mode ? '2026-07-28' : '2025-11-25');
  return client;
}

function refusalOf(result) {
  assert.equal(result.isError, true);
  assert.equal(result.structuredContent, undefined);
  const { error } = JSON.parse(result.content[0].text);
  const beside = Object.entries(result._meta).find(([name]) => name.endsWith('/error'));
  assert.deepEqual(beside[1], error);
  return error;
}

const withProgress = (client, params, onprogress) =>
  which === 'v1' ? client.callTool(params, undefined, { onprogress }) : client.callTool(params, { onprogress });

const client = await connect();
const { tools } = await client.listTools(); // v1 compiles every output schema here
const names = tools.map((tool) => tool.name);
assert.equal(new Set(names).size, names.length);
const own = tools.filter((tool) => tool.outputSchema);
assert.ok('api_key' in own.find((tool) => tool.name === 'get_me').inputSchema.properties);

const made = await client.callTool({ name: 'register_agent', arguments: { name: 'Stranger', detail: 'full' } });
const { agent, api_keys: keys } = made.structuredContent;
assert.deepEqual(JSON.parse(made.content[0].text), made.structuredContent);

const me = await client.callTool({ name: 'get_me', arguments: { api_key: keys.test } });
assert.equal(me.structuredContent.id, agent.id);
assert.ok(!JSON.stringify(me).includes(keys.test));

assert.equal(refusalOf(await client.callTool({ name: 'get_me', arguments: {} })).code, 'unauthenticated');
const wrong = `as_live_${'0'.repeat(40)}`;
const refused = await client.callTool({ name: 'get_me', arguments: { api_key: wrong } });
assert.equal(refusalOf(refused).code, 'unauthenticated');
assert.ok(!JSON.stringify(refused).includes(wrong));

let answered = 0;
for (const tool of own) {
  const result = await client.callTool({ name: tool.name, arguments: {} }); // an exception here is a failure
  if (result.isError) assert.match(refusalOf(result).code, /^[a-z_]+$/);
  else answered += Number(typeof result.structuredContent === 'object');
}

await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), (error) => error.code === -32602);

const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: 'doc://skill.md' });
assert.ok(resources.some((resource) => resource.uri === 'doc://skill.md') && contents[0].text.length > 0);
await assert.rejects(client.readResource({ uri: 'doc://none' }), (error) => error.code === -32602);

const { prompts } = await client.listPrompts();
assert.deepEqual(prompts.slice(0, 2).map((prompt) => prompt.name), ['buy', 'sell']);
const { messages } = await client.getPrompt({ name: 'sell', arguments: { category: 'code' } });
assert.match(messages[0].content.text, /category: code/);
const asked = { ref: { type: 'ref/prompt', name: 'buy' }, argument: { name: 'category', value: 'da' } };
assert.deepEqual((await client.complete(asked)).completion.values, ['data']);

const told = [];
if (names.includes('test_tool_with_progress')) {
  await withProgress(client, { name: 'test_tool_with_progress', arguments: {} }, (one) => told.push(one.progress));
  assert.deepEqual(told, [0, 50, 100]);
}
await client.close();

const keyed = await connect({ 'X-API-Key': keys.test });
assert.equal((await keyed.callTool({ name: 'get_me', arguments: {} })).structuredContent.id, agent.id);
const listed = (await keyed.listTools()).tools.filter((tool) => 'api_key' in (tool.inputSchema.properties ?? {}));
assert.deepEqual(listed, []);
await keyed.close();

console.log(`${names.length} tools, ${answered} answered without arguments, ${told.length} progress notes`);
