// A decoded value is its type: whatever a body says, it is refused in upstream's words, or rules, defaults and rows can read it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldSchema, Json, JsonObject, ResourceDeclaration } from '../apimachinery/declaration.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { decodeObject } from '../apimachinery/schema-decode.ts';
import { schemaSource } from './schema-source.ts';
import { createScheme } from './scheme.ts';
import { decodeResource } from './testing/decode-resource.ts';
import { RandomObjects } from './testing/random-objects.ts';

const scheme = createScheme();

/** Where a value is not what the schema says. Written without a look at how decoding does it. */
function misfits(field: FieldSchema, value: Json | undefined, path: string): string[] {
  const wrong = [`${path}: ${JSON.stringify(value)}`];
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (field.ref !== undefined) {
    const { fields } = schemaSource.type(field.ref) ?? {};
    if (fields === undefined) return scalarFits(field.ref, value) ? [] : wrong;
    if (!isMap) return wrong;
    return Object.entries(value).flatMap(([name, part]) =>
      fields[name] === undefined ? wrong : misfits(fields[name], part, `${path}.${name}`),
    );
  }
  switch (field.type) {
    case 'array':
      return Array.isArray(value)
        ? value.flatMap((item, i) => misfits(field.items ?? {}, item, `${path}[${i}]`))
        : wrong;
    case 'object':
      if (field.values === undefined) return [];
      return isMap
        ? Object.entries(value).flatMap(([key, item]) => misfits(field.values!, item, `${path}.${key}`))
        : wrong;
    case 'integer':
      return Number.isSafeInteger(value) || typeof value === 'bigint' ? [] : wrong;
    case undefined:
      return [];
    default:
      return typeof value === field.type ? [] : wrong;
  }
}

/** Types that are written as one value; those of any JSON fit. */
function scalarFits(type: string, value: Json | undefined): boolean {
  switch (type.slice(type.lastIndexOf('.') + 1)) {
    case 'Quantity':
    case 'Time':
    case 'MicroTime':
    case 'Duration':
      return typeof value === 'string';
    case 'IntOrString':
      return typeof value === 'string' || Number.isInteger(value);
    default:
      return true;
  }
}

/** Asks all that a server asks of a kind. */
function ask(d: ResourceDeclaration, object: JsonObject, old: JsonObject): void {
  const { strategy } = d;
  const context = { now: '2026-01-01T00:00:00Z', namespace: 'default', user: { name: 'u', groups: [] } };
  strategy.validate?.(object);
  strategy.warnings?.(object, undefined);
  strategy.warnings?.(object, old);
  strategy.gracePeriodSeconds?.(object, undefined);
  strategy.holdsDeletion?.(object);
  d.row(object, Date.parse('2026-02-01T00:00:00Z'));
  d.selectableFields(object);
  d.conversion?.fromStorage(d.conversion.toStorage(object));
  for (const subresource of ['', ...d.subresources.map(({ name }) => name)]) {
    const written = structuredClone(object);
    strategy.prepareForUpdate?.(written, old, { ...context, subresource });
    strategy.validateUpdate?.(written, old, { ...context, subresource });
  }
  strategy.prepareForCreate?.(object, { ...context, subresource: '' });
  strategy.prepareForDelete?.(object);
}

const refusal =
  /cannot be handled as a \w+: (json: cannot unmarshal |quantities must match|unable to parse quantity|parsing time|illegal base64)/;

test('what decoding takes has the types of its fields, and everything of its kind can read it', () => {
  const random = new RandomObjects(20_261_122, 3);
  let [taken, refused] = [0, 0];
  for (const d of scheme.resources()) {
    let old: JsonObject = {};
    for (let i = 0; i < 60; i++) {
      const object = { ...random.object(d.type), kind: d.kind, apiVersion: 'v1' };
      const sent = JSON.stringify(object);
      try {
        decodeResource(scheme, d, object);
      } catch (error) {
        assert.ok(isStatusError(error, 'BadRequest'), `${d.resource}: ${String(error)}\n${sent}`);
        assert.match(error.message, refusal, sent);
        refused++;
        continue;
      }
      taken++;
      assert.deepEqual(misfits({ ref: d.type }, object, d.kind), [], sent);
      try {
        ask(d, structuredClone(object), old);
      } catch (error) {
        assert.fail(`${d.resource}: ${error instanceof Error ? error.stack : String(error)}\n${sent}`);
      }
      old = object;
    }
  }
  assert.ok(taken > 500 && refused > 500, `${taken} taken, ${refused} refused`);
});

test('a wrong type is refused by the name of its struct, its path and its Go type', () => {
  const pod = {
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'c', ports: [{ containerPort: 'x' }] }] },
  };
  assert.throws(
    () => decodeObject(scheme.plans, 'io.k8s.api.core.v1.Pod', pod),
    /^DecodeError: json: cannot unmarshal string into Go struct field ContainerPort\.spec\.containers\.ports\.containerPort of type int32$/,
  );
});

test('of a wrong value in a map the field is told, not the key', () => {
  assert.throws(
    () => decodeObject(scheme.plans, 'io.k8s.api.core.v1.Pod', { spec: { nodeSelector: { zone: 1 } } }),
    /^DecodeError: json: cannot unmarshal number into Go struct field PodSpec\.spec\.nodeSelector of type string$/,
  );
});
