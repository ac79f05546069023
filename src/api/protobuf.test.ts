// Every kind goes to protobuf and back unchanged; hostile bytes are refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../apimachinery/declaration.ts';
import type { PlanNode } from '../apimachinery/plan.ts';
import {
  decodeProtobuf,
  encodeProtobuf,
  encodeWatchFrame,
} from '../apimachinery/serializer/protobuf/envelope.ts';
import { createScheme } from './scheme.ts';

const scheme = createScheme();

/** A value with every field of the type set, to a depth. */
function fill(node: PlanNode, depth: number): Json | undefined {
  switch (node.kind) {
    case 'scalar':
      return node.scalar === 'string'
        ? 'värde'
        : node.scalar === 'bool'
          ? true
          : node.scalar === 'float64'
            ? 1.5
            : -7;
    case 'bytes':
      return 'AAEC/w==';
    case 'special':
      if (node.special === 'quantity') return '1500m';
      if (node.special === 'time') return '2026-01-02T03:04:05Z';
      if (node.special === 'microTime') return '2026-01-02T03:04:05.000678Z';
      if (node.special === 'duration') return '1m15.25s';
      if (node.special === 'intOrString') return depth % 2 ? '25%' : 80;
      if (node.type.endsWith('OrBool')) return true;
      if (node.type.endsWith('OrStringArray')) return ['a', 'b'];
      if (node.type.endsWith('OrArray')) return { type: 'string' };
      return { 'f:x': { '.': {} } };
    case 'array': {
      const item = fill(node.items, depth + 1);
      return item === undefined ? undefined : [item, item];
    }
    case 'map': {
      const value = fill(node.values, depth + 1);
      return value === undefined ? undefined : { a: value, 'b.c/d': value };
    }
    case 'struct': {
      if (depth > 9) return undefined;
      const object: JsonObject = {};
      for (const field of node.fields.values()) {
        const value = fill(field.node, depth + 1);
        if (
          value !== undefined &&
          !(field.name === 'kind' && depth === 0) &&
          !(field.name === 'apiVersion' && depth === 0)
        )
          object[field.name] = value;
      }
      return object;
    }
    default:
      return undefined;
  }
}

/** Kind and apiVersion of inlined objects do not travel in protobuf. */
function withoutTypes(node: PlanNode, value: Json | undefined): void {
  if (node.kind === 'array' && Array.isArray(value)) for (const v of value) withoutTypes(node.items, v);
  if (node.kind === 'map') for (const v of Object.values(value as JsonObject)) withoutTypes(node.values, v);
  if (node.kind !== 'struct' || typeof value !== 'object' || value === null) return;
  for (const field of node.fields.values()) {
    const object = value as JsonObject;
    if ((field.name === 'kind' || field.name === 'apiVersion') && !field.schema.proto)
      delete object[field.name];
    else if (object[field.name] !== undefined) withoutTypes(field.node, object[field.name]);
  }
}

test('every kind with every field set comes back from protobuf unchanged', () => {
  for (const d of scheme.resources()) {
    const plan = scheme.plans.plan(d.type)!;
    const apiVersion = d.group === '' ? d.version : `${d.group}/${d.version}`;
    const filled = fill(plan, 0) as JsonObject;
    withoutTypes(plan, filled);
    const object: JsonObject = { kind: d.kind, apiVersion, ...filled };
    assert.deepEqual(
      decodeProtobuf(scheme, encodeProtobuf(scheme, object)),
      object,
      `${apiVersion} ${d.kind}`,
    );
  }
});

test('the bytes of a small pod are those of Kubernetes', () => {
  const bytes = encodeProtobuf(scheme, { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'a' } });
  assert.equal(
    [...bytes].map((b) => b.toString(16).padStart(2, '0')).join(''),
    `6b387300${'0a09'}${'0a027631'}${'1203506f64'}${'1205'}${'0a030a0161'}${'1a002200'}`,
  );
});

test('cut, padded and random bytes are refused or read, never a crash of another kind', () => {
  const bytes = encodeProtobuf(scheme, {
    kind: 'Pod',
    apiVersion: 'v1',
    ...(fill(scheme.plans.plan('io.k8s.api.core.v1.Pod')!, 0) as JsonObject),
  });
  for (let cut = 0; cut < bytes.length; cut += 97) {
    try {
      decodeProtobuf(scheme, bytes.subarray(0, cut));
    } catch (error) {
      assert.equal((error as Error).name, 'DecodeError');
    }
  }
  assert.throws(
    () => decodeProtobuf(scheme, Uint8Array.of(0x6b, 0x38, 0x73, 0, 0x12, 255, 255, 255, 255, 15)),
    {
      message: 'unexpected EOF',
    },
  );
});

test('JSON within a message is as deep as a body may be, and no deeper', () => {
  const revision = { apiVersion: 'apps/v1', kind: 'ControllerRevision' };
  const ofDepth = (depth: number): Uint8Array => {
    let data: Json = {};
    for (let i = 1; i < depth; i++) data = [data];
    return encodeProtobuf(scheme, { ...revision, revision: 1, data: { data } });
  };
  assert.ok(decodeProtobuf(scheme, ofDepth(480), revision));
  for (const depth of [500, 3_000])
    assert.throws(() => decodeProtobuf(scheme, ofDepth(depth), revision), {
      message: 'exceeded max depth',
    });
});

test('a version that has the form of the expected one is read as that, and no other', () => {
  const v1 = encodeProtobuf(scheme, { kind: 'Eviction', apiVersion: 'policy/v1', metadata: { name: 'a' } });
  const raw = '0a030a0161';
  const of = (apiVersion: string, kind = 'Eviction'): Uint8Array => {
    const text = (tag: string, value: string): string =>
      tag + Buffer.from([value.length]).toString('hex') + Buffer.from(value).toString('hex');
    const meta = Buffer.from(text('0a', apiVersion) + text('12', kind), 'hex');
    const length = Buffer.from([meta.length]).toString('hex');
    return Buffer.from(`6b3873000a${length}${meta.toString('hex')}1205${raw}1a002200`, 'hex');
  };
  assert.deepEqual(Buffer.from(v1), Buffer.from(of('policy/v1')));
  const expected = { apiVersion: 'policy/v1', kind: 'Eviction', otherVersions: ['v1beta1'] };
  assert.deepEqual(decodeProtobuf(scheme, of('policy/v1beta1'), expected), {
    kind: 'Eviction',
    apiVersion: 'policy/v1beta1',
    metadata: { name: 'a' },
  });
  for (const [apiVersion, kind] of [
    ['policy/v1beta2', 'Eviction'],
    ['apps/v1beta1', 'Eviction'],
    ['v1beta1', 'Eviction'],
    ['policy/v1beta1', 'PodDisruptionBudget'],
  ] as const)
    assert.throws(() => decodeProtobuf(scheme, of(apiVersion, kind), expected), {
      message: `no kind "${kind}" is registered for version "${apiVersion}"`,
    });
});

test('a watch frame begins with its length', () => {
  const frame = encodeWatchFrame('ADDED', Uint8Array.of(1, 2, 3));
  assert.equal(new DataView(frame.buffer).getUint32(0), frame.length - 4);
});

test('lists of metadata alone have a protobuf form too', () => {
  const list: JsonObject = {
    kind: 'PartialObjectMetadataList',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: '5' },
    items: [{ metadata: { name: 'a', uid: 'u' } }],
  };
  assert.deepEqual(decodeProtobuf(scheme, encodeProtobuf(scheme, list)), list);
});
