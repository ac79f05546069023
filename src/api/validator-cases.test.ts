// What each kind refuses: a sound object, one change to it, and the causes of the 422 in upstream's words.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Json, JsonObject, Strategy } from '../apimachinery/declaration.ts';
import { fieldErrorText } from '../apimachinery/field-error.ts';
import { parseYaml } from '../base/yaml.ts';
import { createScheme } from './scheme.ts';
import { decodeResource } from './testing/decode-resource.ts';

interface Table {
  readonly base: JsonObject;
  readonly cases: readonly {
    readonly set: JsonObject;
    /** What the base is changed by before: the case is an update. */
    readonly from?: JsonObject;
    readonly errors: readonly string[];
    /** What is said of it although it is taken; not looked at when it is absent. */
    readonly warnings?: readonly string[];
    /** The subresource that is written: its rules are others. */
    readonly subresource?: string;
  }[];
}

const scheme = createScheme();
const folder = new URL('./testing/validator-cases/', import.meta.url);
const tables = readdirSync(folder).flatMap(
  (file) => parseYaml(readFileSync(new URL(file, folder), 'utf8')) as unknown as readonly Table[],
);

/** `spec.containers[0].name`; what is on the way is made. */
function setAt(object: JsonObject, path: string, value: Json): void {
  const steps = [...path.matchAll(/[^.[\]]+/g)].map(([step]) => step);
  const last = steps.pop()!;
  let at = object;
  for (const step of steps) {
    at[step] ??= {};
    at = at[step] as JsonObject;
  }
  at[last] = value;
}

function read(base: JsonObject, changes: JsonObject): { object: JsonObject; strategy: Strategy } {
  const object = structuredClone(base);
  for (const [path, value] of Object.entries(changes)) setAt(object, path, structuredClone(value ?? null));
  const [group, version] = `/${String(object['apiVersion'])}`.split('/').slice(-2) as [string, string];
  const declaration = scheme.kind({ group, version, kind: String(object['kind']) });
  assert.ok(declaration, `${group}/${version}`);
  decodeResource(scheme, declaration, object);
  return { object, strategy: declaration.strategy };
}

const context = { now: '', namespace: 'n', subresource: '' };
for (const { base, cases } of tables)
  test(`${String(base['kind'])}: ${cases.length} cases`, () => {
    for (const { set, from, errors, warnings, subresource = '' } of cases) {
      const { object, strategy } = read(base, set);
      const old = from === undefined ? undefined : read(base, from).object;
      const found =
        old === undefined
          ? strategy.validate?.(object)
          : strategy.validateUpdate?.(object, old, { ...context, subresource });
      assert.deepEqual((found ?? []).map(fieldErrorText), errors, JSON.stringify({ from, set }));
      if (warnings)
        assert.deepEqual(strategy.warnings?.(object, old), warnings, JSON.stringify({ from, set }));
    }
  });
