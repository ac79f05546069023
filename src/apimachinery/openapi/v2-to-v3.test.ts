// What a server says in OpenAPI v2, as v3 says it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../json.ts';
import { pathV3, schemaV3 } from './v2-to-v3.ts';

test('references lead to where v3 keeps types, and what stands beside one stays', () => {
  const schema = {
    type: 'object',
    required: ['a'],
    properties: {
      a: { $ref: '#/definitions/x.A' },
      b: { description: 'B.', $ref: '#/definitions/x.B' },
      c: { type: 'array', items: { $ref: '#/definitions/x.C' } },
      d: { type: 'object', additionalProperties: { $ref: '#/definitions/x.D' } },
      e: { type: 'object', additionalProperties: true },
    },
    'x-kubernetes-group-version-kind': [{ group: 'x', version: 'v1', kind: 'X' }],
  };
  assert.deepEqual(schemaV3(schema), {
    ...schema,
    properties: {
      a: { $ref: '#/components/schemas/x.A' },
      b: { description: 'B.', allOf: [{ $ref: '#/components/schemas/x.B' }] },
      c: { type: 'array', items: { $ref: '#/components/schemas/x.C' } },
      d: { type: 'object', additionalProperties: { $ref: '#/components/schemas/x.D' } },
      e: { type: 'object', additionalProperties: true },
    },
  });
});

test('bodies, answers and parameters stand where v3 has them', () => {
  const schema = { $ref: '#/definitions/x.X' };
  const told = pathV3({
    parameters: [{ name: 'name', in: 'path', required: true, type: 'string', uniqueItems: true }],
    post: {
      operationId: 'createX',
      tags: ['x_v1'],
      schemes: ['https'],
      consumes: ['*/*'],
      produces: ['application/json', 'application/yaml'],
      'x-kubernetes-action': 'post',
      parameters: [
        { name: 'body', in: 'body', required: true, schema },
        { name: 'dryRun', in: 'query', type: 'string' },
      ],
      responses: { 200: { description: 'OK', schema }, 401: { description: 'Unauthorized' } },
    },
  });
  const here = { schema: { $ref: '#/components/schemas/x.X' } };
  assert.deepEqual(told, {
    parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string', uniqueItems: true } }],
    post: {
      operationId: 'createX',
      tags: ['x_v1'],
      'x-kubernetes-action': 'post',
      parameters: [{ name: 'dryRun', in: 'query', schema: { type: 'string' } }],
      requestBody: { content: { '*/*': here } },
      responses: {
        200: { description: 'OK', content: { 'application/json': here, 'application/yaml': here } },
        401: { description: 'Unauthorized' },
      },
    },
  });
});

test('what is no description harms nobody', () => {
  const odd = [1, 'x', null, [], [null], { $ref: 1 }, { properties: null }, { parameters: [1, null] }];
  for (const value of odd)
    for (const key of [
      'get',
      'parameters',
      'responses',
      'items',
      'properties',
      'allOf',
      '$ref',
      '__proto__',
    ]) {
      const made = JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(value)}}`) as JsonObject;
      pathV3(made);
      pathV3({ get: made });
      schemaV3(made);
    }
  let deep: JsonObject = {};
  for (let i = 0; i < 5000; i++) deep = { items: deep };
  assert.ok(JSON.stringify(schemaV3(deep)).length < 2000);
});

test('thousands of media types do not make a large schema thousands of times as large', () => {
  const types = Array.from({ length: 5_000 }, (_, i) => `a/${i}`);
  const schema = { type: 'object', description: 'x'.repeat(50_000) };
  const told = pathV3({
    post: {
      consumes: types,
      produces: types,
      parameters: [{ name: 'body', in: 'body', schema }],
      responses: { 200: { description: 'OK', schema } },
    },
  });
  assert.ok(JSON.stringify(told).length < 2_000_000);
  const { requestBody } = told['post'] as { requestBody: { content: object } };
  assert.deepEqual(Object.keys(requestBody.content), types.slice(0, 10));
});
