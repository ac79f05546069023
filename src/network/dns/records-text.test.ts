// The file of what DNS keeps: made in steps, and no user's Services take the place of others'.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../api/generated/types/core-v1.ts';
import { atOnce } from '../../base/turns.ts';
import { recordsText } from './records-text.ts';

const service = (namespace: string, name: string, ports: number): Service => ({
  metadata: { namespace, name },
  spec: {
    clusterIP: '10.96.0.1',
    ports: Array.from({ length: ports }, (_, i) => ({ name: `p${i}`, port: i })),
  },
});
const namesIn = (text: string): string[] =>
  (JSON.parse(text.slice(text.indexOf('\n'))) as { services: Service[] }).services.map(
    ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
  );

test('a namespace has its share of the file, and nothing more of it is read; others have theirs', () => {
  const large = Array.from({ length: 40 }, (_, i) => service('large', `s${i}`, 5000));
  const last = large.at(-1)!;
  Object.defineProperty(last, 'spec', { get: () => assert.fail('what has no room is not written down') });
  const services = [...large, service('small', 'web', 1)];
  const names = namesIn(atOnce(recordsText({ services, slices: [], namespaces: [] }, 64 << 20)));
  assert.equal(names.at(-1), 'small/web');
  assert.ok(names.length > 10 && names.length < 40, `${names.length} of 41`);
});

test('the file is never longer than what is read of it', () => {
  const services = Array.from({ length: 40 }, (_, i) => service(`n${i}`, 's', 1000));
  const text = atOnce(recordsText({ services, slices: [], namespaces: [] }, 300_000));
  assert.ok(text.length > 200_000 && text.length <= 300_000, `${text.length}`);
  assert.ok(namesIn(text).length > 3);
});

test('it is made in steps: the node answers between', () => {
  const services = Array.from({ length: 100 }, (_, i) => service(`n${i}`, 's', 1000));
  const steps = recordsText({ services, slices: [], namespaces: [] }, 64 << 20);
  let [taken, result] = [0, steps.next()];
  for (; result.done !== true; result = steps.next()) taken++;
  assert.ok(taken >= (result.value.length / (64 << 10)) * 0.5, `${taken} steps of ${result.value.length}`);
});
