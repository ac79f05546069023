// Templates that an older server stored with zeros in them, or that come with nulls or without, are not rolled out anew.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControllerRevision, Deployment, ReplicaSet } from '../../api/generated/types/apps-v1.ts';
import type { PodTemplateSpec } from '../../api/generated/types/core-v1.ts';
import { revisionOfTemplate } from '../daemon/revision-history.ts';
import { findNewReplicaSet, newReplicaSet } from '../deployment/revisions.ts';

const template = (spec: object, container: object): PodTemplateSpec =>
  ({
    metadata: { labels: { a: 'b' } },
    spec: { ...spec, containers: [{ name: 'c', image: 'i', ...container }] },
  }) as never;
const plain = template({}, {});
const zeros = template(
  { hostNetwork: false, hostname: '' },
  { stdin: false, env: [{ name: 'A', value: '' }] },
);
const plainWithEnv = template({}, { env: [{ name: 'A' }] });
const projected = (sources: object): PodTemplateSpec =>
  template({ volumes: [{ name: 'v', projected: sources }] }, {});
const absent = projected({});
const nulls = projected({ sources: null });
const root = template({}, { securityContext: { runAsUser: 0 } });

const replicaSet = (held: PodTemplateSpec): ReplicaSet =>
  ({
    metadata: { name: 'rs', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { selector: {}, template: held },
  }) as never;
const revision = (held: PodTemplateSpec): ControllerRevision =>
  ({
    metadata: { name: 'r' },
    revision: 1,
    data: { spec: { template: { ...held, $patch: 'replace' } } },
  }) as never;

for (const [what, held, wanted, isSame] of [
  ['itself', plain, plain, true],
  ['one with zeros', zeros, plainWithEnv, true],
  ['one without them', plainWithEnv, zeros, true],
  ['one with nulls', nulls, absent, true],
  ['one without nulls', absent, nulls, true],
  ['another', zeros, plain, false],
  ['one that sets a pointer to nought', root, plain, false],
] as const)
  test(`beside ${what}`, () => {
    const deployment = { spec: { template: wanted } } as unknown as Deployment;
    assert.equal(findNewReplicaSet(deployment, [replicaSet(held)]) !== undefined, isSame);
    assert.equal(revisionOfTemplate([revision(held)], wanted) !== undefined, isSame);
  });

test('a template has one hash, whether its nulls are there or not', () => {
  const [left, right] = [absent, nulls].map((held) => {
    const deployment = {
      metadata: { name: 'd', uid: 'u' },
      spec: { selector: {}, template: held },
    } as unknown as Deployment;
    return newReplicaSet(deployment, [], 1n).metadata.name;
  });
  assert.equal(left, right);
});
