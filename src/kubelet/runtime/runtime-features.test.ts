// What a runtime can't do is refused rather than left out in silence.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../api/generated/types/core-v1.ts';
import { aPod } from '../testing/observed-builder.ts';
import { beyondRuntime, featuresOf, withRecursiveReadOnly } from './runtime-features.ts';

const old = featuresOf({});
const handlers = [{ name: '', features: { recursiveReadOnlyMounts: true } }, { name: 'other' }];
const modern = featuresOf({ features: { supplementalGroupsPolicy: true }, runtimeHandlers: handlers });

test('groups that are to be strict are refused by a runtime that can only merge them', () => {
  const strict = aPod({ securityContext: { supplementalGroupsPolicy: 'Strict' } });
  assert.deepEqual(beyondRuntime(strict, old), {
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
  });
  assert.equal(beyondRuntime(strict, modern), undefined);
  assert.equal(
    beyondRuntime(aPod({ securityContext: { supplementalGroupsPolicy: 'Merge' } }), old),
    undefined,
  );
});

test('a mount that is to be read-only throughout is so, or the container does not start', () => {
  const mountsOf = (more: object, supported: boolean) =>
    withRecursiveReadOnly(
      { name: 'c', volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true, ...more }] } as Container,
      [{ containerPath: '/v', readonly: true }],
      supported,
    )[0]?.recursiveReadOnly;
  const handler = (name: string): boolean => modern.recursiveReadOnlyHandlers.has(name);
  assert.deepEqual([handler(''), handler('other')], [true, false]);
  assert.equal(mountsOf({ recursiveReadOnly: 'Enabled' }, true), true);
  assert.equal(mountsOf({ recursiveReadOnly: 'IfPossible' }, true), true);
  assert.equal(mountsOf({ recursiveReadOnly: 'IfPossible' }, false), undefined);
  assert.equal(mountsOf({}, true), undefined);
  const refused = (more: object, supported: boolean, why: string): void =>
    assert.throws(() => mountsOf({ recursiveReadOnly: 'Enabled', ...more }, supported), {
      message: `volume "v" requested recursive read-only mode, but it is ${why}`,
    });
  refused({}, false, 'not supported by the runtime');
  refused({ readOnly: false }, true, 'not read-only');
  refused({ mountPropagation: 'HostToContainer' }, true, 'not compatible with propagation "HostToContainer"');
});
