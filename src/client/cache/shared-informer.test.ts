// What an informer holds once, and that it keeps nothing of objects that are gone.
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { configmaps } from '../../api/generated/resources.ts';
import type { ConfigMap } from '../../api/generated/types/core-v1.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { SharedInformer } from './shared-informer.ts';

/** Each with parts of its own, as they come from the wire. */
const map = (name: string, resourceVersion: string, owner?: string): ConfigMap => ({
  metadata: {
    name,
    namespace: 'n',
    uid: `uid-${name}`,
    resourceVersion,
    ...(owner === undefined
      ? {}
      : { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: owner, uid: owner }] }),
  },
  data: { large: 'the same in all' },
});

describe('an informer', () => {
  let informer: SharedInformer<ConfigMap>;
  beforeEach(() => {
    informer = new SharedInformer(configmaps, silentLogger);
    informer.replace([]);
  });
  /** What it holds of the object after it has been told of it. */
  const dataOf = (object: ConfigMap): unknown => {
    informer.set(object);
    return informer.lister.get(object.metadata.name!, 'n')?.data;
  };

  it('holds once what two objects of one owner have in common', () => {
    const first = dataOf(map('a', '1'));
    assert.equal(dataOf(map('b', '2')), first);
  });

  it('keeps nothing of the newest one when it is deleted, also when it was told of twice', () => {
    const first = dataOf(map('a', '1'));
    informer.set(map('a', '1'));
    informer.remove(map('a', '2'));
    assert.notEqual(dataOf(map('b', '3')), first);
  });

  it('does not walk through what a list repeats', () => {
    const walked: unknown[] = [];
    informer = new SharedInformer(configmaps, silentLogger, { freeze: (object) => walked.push(object) });
    const [first, changed] = [map('a', '1'), map('a', '2')];
    informer.replace([first]);
    informer.replace([map('a', '1')]);
    assert.equal(informer.lister.get('a', 'n'), first);
    informer.replace([changed]);
    assert.deepEqual(walked, [first, changed]);
  });

  it('keeps nothing of one that had another owner before', () => {
    const first = dataOf(map('a', '1'));
    informer.set(map('a', '2', 'owner'));
    informer.remove(map('a', '3', 'owner'));
    assert.notEqual(dataOf(map('b', '4')), first);
    assert.notEqual(dataOf(map('c', '5', 'owner')), first);
  });
});
