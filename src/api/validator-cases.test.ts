// What each kind refuses: a sound object, one change to it, and the causes of the 422 in upstream's words.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Json, JsonObject } from '../apimachinery/declaration.ts';
import { fieldErrorText } from '../apimachinery/field-error.ts';
import { parseYaml } from '../base/yaml.ts';
import { createScheme } from './scheme.ts';
import { decodeResource } from './testing/decode-resource.ts';

interface Table {
  readonly base: JsonObject;
  readonly cases: readonly { readonly set: JsonObject; readonly errors: readonly string[] }[];
}

const scheme = createScheme();
const tables = parseYaml(
  readFileSync(new URL('./testing/validator-cases.yaml', import.meta.url), 'utf8'),
) as unknown as readonly Table[];

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

function errorsOf(object: JsonObject): string[] {
  const [group, version] = `/${String(object['apiVersion'])}`.split('/').slice(-2) as [string, string];
  const declaration = scheme.kind({ group, version, kind: String(object['kind']) });
  assert.ok(declaration, `${group}/${version}`);
  decodeResource(scheme, declaration, object);
  return (declaration.strategy.validate?.(object) ?? []).map(fieldErrorText);
}

for (const { base, cases } of tables)
  test(`${String(base['kind'])}: ${cases.length} cases`, () => {
    for (const { set, errors } of cases) {
      const object = structuredClone(base);
      for (const [path, value] of Object.entries(set)) setAt(object, path, structuredClone(value ?? null));
      assert.deepEqual(errorsOf(object), errors, JSON.stringify(set));
    }
  });
