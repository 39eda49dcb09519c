// The published JavaScript client against a server: openai.mjs TOOL MODEL
// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { serve } from './server.mjs';

const require = createRequire(path.join(process.cwd(), 'x'));
const OpenAI = require('openai').default ?? require('openai');
const [tool, model] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'ggufx-'));
const keys = path.join(folder, 'keys');
fs.writeFileSync(keys, 'a-key-of-the-test-0123\n');
const template = path.join(folder, 'tools.jinja');
fs.writeFileSync(template, `{% if tools %}<tool_call>{% for t in tools %}{{ t.function.name }} {% endfor %}{% endif %}
{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}assistant: `);
const server = await serve(tool, [model, '--embeddings', '--api-key-file', keys, '--template', template]);
const client = new OpenAI({ baseURL: server.url + '/v1', apiKey: 'a-key-of-the-test-0123', maxRetries: 0 });
const messages = [{ role: 'user', content: 'Once upon a time' }];
const base = { model: 'ggufx tiny stories', messages, max_completion_tokens: 20, seed: 5 };

const whole = await client.chat.completions.create(base);
assert.equal(whole.choices[0].finish_reason, 'length');
let text = '', usage = null;
for await (const chunk of await client.chat.completions.create({ ...base, stream: true, stream_options: { include_usage: true } })) {
  text += chunk.choices[0]?.delta.content ?? '';
  usage = chunk.usage ?? usage;
}
assert.equal(text, whole.choices[0].message.content);
assert.equal(usage.completion_tokens, 20);

const helper = client.chat.completions.stream(base);
assert.equal(await helper.finalContent(), text);

// the client leaves in the middle
const left = await client.chat.completions.create({ ...base, max_completion_tokens: 400, logit_bias: { 2: -100 }, stream: true });
for await (const chunk of left) { left.controller.abort(); break; }

const tools = [{ type: 'function', function: { name: 'weather', description: 'of a city', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }];
const with_tools = await client.chat.completions.create({ ...base, tools });
assert.ok(with_tools.choices[0].message);
const called = await client.chat.completions.create({ ...base, max_completion_tokens: 300, tools: [{ type: 'function', function: { ...tools[0].function, parameters: { type: 'object', properties: { city: { enum: ['Bonn', 'Rome'] } }, required: ['city'], additionalProperties: false } } }], tool_choice: 'required' });
assert.equal(called.choices[0].finish_reason, 'tool_calls');
assert.ok(['Bonn', 'Rome'].includes(JSON.parse(called.choices[0].message.tool_calls[0].function.arguments).city));
const history = [...messages, { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bonn"}' } }] }, { role: 'tool', tool_call_id: 'call_1', content: 'rain' }];
assert.ok((await client.chat.completions.create({ ...base, messages: history, tools })).usage.prompt_tokens > whole.usage.prompt_tokens);

const schema = { type: 'object', properties: { n: { type: 'integer', enum: [1, 2] } }, required: ['n'], additionalProperties: false };
const formed = await client.chat.completions.create({ ...base, max_completion_tokens: 200, response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } } });
assert.ok([1, 2].includes(JSON.parse(formed.choices[0].message.content).n));

const response = await client.responses.create({ model: base.model, input: 'Once upon a time', max_output_tokens: 20 });
assert.ok(response.output_text.length > 5);
let told = '', last = null;
for await (const event of await client.responses.create({ model: base.model, input: 'Once upon a time', max_output_tokens: 20, stream: true })) {
  if (event.type === 'response.output_text.delta') told += event.delta;
  last = event;
}
assert.equal(last.type, 'response.incomplete');
assert.equal(last.response.output[0].content[0].text, told);

const completion = await client.completions.create({ model: base.model, prompt: 'Once upon a time', max_tokens: 5 });
assert.equal(completion.usage.completion_tokens, 5);
const vectors = await client.embeddings.create({ model: base.model, input: ['Once', 'The sun'] });
assert.equal(vectors.data[1].embedding.length, 256);
const floats = await client.embeddings.create({ model: base.model, input: ['Once', 'The sun'], encoding_format: 'float' });
assert.ok(Math.abs(vectors.data[1].embedding[7] - floats.data[1].embedding[7]) < 1e-6);
assert.equal((await client.models.list()).data[0].id, base.model);
assert.equal((await client.models.retrieve(base.model)).id, base.model);

async function fails(kind, status, code, ask) {
  await assert.rejects(ask, error => {
    assert.ok(error instanceof kind, String(error));
    assert.equal(error.status, status);
    assert.equal(error.code, code);
    assert.ok(error.requestID);
    return true;
  });
}
await fails(OpenAI.AuthenticationError, 401, 'invalid_api_key', () => new OpenAI({ baseURL: server.url + '/v1', apiKey: 'x', maxRetries: 0 }).models.list());
await fails(OpenAI.NotFoundError, 404, 'model_not_found', () => client.chat.completions.create({ ...base, model: 'other' }));
await fails(OpenAI.BadRequestError, 400, 'unknown_parameter', () => client.chat.completions.create({ ...base, nonsense: 1 }));
await fails(OpenAI.BadRequestError, 400, 'context_length_exceeded', () => client.completions.create({ model: base.model, prompt: 'word '.repeat(600) }));
await server.end();
fs.rmSync(folder, { recursive: true });
const { version } = JSON.parse(fs.readFileSync(path.join(process.cwd(), 'node_modules', 'openai', 'package.json')));
console.log('openai ' + version + ': all as published');
