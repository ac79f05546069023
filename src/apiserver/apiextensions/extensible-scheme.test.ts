// What is built in stays what it is, whatever names a definition asks for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createScheme } from '../../api/scheme.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { customKind } from './custom-kind.ts';
import { type ExtensibleScheme, extensibleScheme } from './extensible-scheme.ts';

function define(scheme: ExtensibleScheme, group: string, kind: string): void {
  const plural = `${kind.toLowerCase()}s`;
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties: { own: { type: 'string' } } } },
  };
  const crd: JsonObject = {
    metadata: { name: `${plural}.${group}`, uid: 'u', generation: 1 },
    spec: { group, scope: 'Namespaced', names: { plural, kind }, versions: [version] },
  };
  scheme.setCustomKinds(`${plural}.${group}`, [customKind({ crd, version, read: () => crd }, scheme)]);
}

test('a definition whose type has the name of a built-in one changes nothing of it', () => {
  const base = createScheme();
  const scheme = extensibleScheme(base);
  for (const [group, kind, type] of [
    ['core.api.k8s.io', 'Pod', 'io.k8s.api.core.v1.Pod'],
    ['meta.apis.pkg.apimachinery.k8s.io', 'ObjectMeta', 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'],
  ] as const) {
    define(scheme, group, kind);
    assert.equal(scheme.resource(group, 'v1', `${kind.toLowerCase()}s`)?.type, type);
    assert.ok(scheme.plans.plan(type) === base.plans.plan(type), `the plan of ${type}`);
    assert.equal(scheme.definition?.(type, 'v3'), undefined);
  }
});

test('a kind that only a subresource of a built-in has keeps its type', () => {
  const base = createScheme();
  const scheme = extensibleScheme(base);
  const gvk = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
  const type = base.typeOf(gvk);
  assert.ok(type);
  define(scheme, gvk.group, gvk.kind);
  assert.equal(scheme.typeOf(gvk), type);
});

test('what is not built in is read by its definition', () => {
  const scheme = extensibleScheme(createScheme());
  define(scheme, 'example.com', 'Pod');
  const type = scheme.typeOf({ group: 'example.com', version: 'v1', kind: 'Pod' });
  assert.equal(type, 'com.example.v1.Pod');
  assert.equal(scheme.plans.plan(type)?.kind, 'own');
  assert.ok(scheme.definition?.(type, 'v3'));
});
