// What another server says in OpenAPI v2 becomes no more than it said, times its media types.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../apimachinery/json.ts';
import { convertedToV3, remoteOpenApiV2 } from './remote-openapi.ts';

const own = '/apis/e.com/v1/';
const isOwn = (path: string): boolean => path.startsWith(own);
const path = (produces: readonly string[], responses: JsonObject): JsonObject => ({
  get: { produces: [...produces], responses },
});
const answers = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, code) => [code, { schema: { type: 'object' } }]));
const converted = async (
  paths: JsonObject,
): Promise<{ readonly length: number; readonly paths: JsonObject }> => {
  const found = await remoteOpenApiV2({ paths }, isOwn);
  const bytes = await convertedToV3(found, isOwn);
  return { length: bytes.length, paths: JSON.parse(bytes.toString()).paths };
};

test('names of media types are not said again with each of thousands of answers', async () => {
  const long = Array.from({ length: 10 }, (_, i) => `${i}${'a'.repeat(6000)}`);
  const short = Array.from({ length: 10 }, (_, i) => `${i}/${'a'.repeat(120)}`);
  const usual = path(['application/json', 'application/yaml'], answers(3));
  const { length, paths } = await converted({
    [`${own}long`]: path(long, answers(1000)),
    [`${own}short`]: path(short, answers(1000)),
    [`${own}usual`]: usual,
  });
  assert.ok(length < 100_000, `${length}`);
  assert.deepEqual(Object.keys(paths), [`${own}long`, `${own}usual`]);
  const { get } = paths[`${own}usual`] as { get: { responses: Record<string, { content: JsonObject }> } };
  assert.deepEqual(get.responses['0']!.content, {
    'application/json': { schema: { type: 'object' } },
    'application/yaml': { schema: { type: 'object' } },
  });
});

test('a large schema is told for each media type', async () => {
  const types = Array.from({ length: 10 }, (_, i) => `application/${i}`);
  const schema = { description: 'x'.repeat(100_000) };
  const { length } = await converted({ [`${own}large`]: path(types, { 200: { schema } }) });
  assert.ok(length > 1_000_000, `${length}`);
});
