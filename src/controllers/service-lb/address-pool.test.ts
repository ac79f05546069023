// Which address a Service of type LoadBalancer gets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../api/generated/types/core-v1.ts';
import { AddressPool } from './address-pool.ts';

const nobody = new Set<string>();
const service = (ip?: string, spec: Partial<Service['spec']> = {}): Service => ({
  metadata: { name: 's' },
  spec: { type: 'LoadBalancer', ...spec },
  ...(ip === undefined ? {} : { status: { loadBalancer: { ingress: [{ ip }] } } }),
});

test('the highest address that nobody has, and the same again', () => {
  const pool = new AddressPool('10.0.0.128/29');
  assert.deepEqual(pool.choose('a', service(), [], nobody), { ip: '10.0.0.134' });
  assert.deepEqual(pool.choose('b', service(), [], nobody), { ip: '10.0.0.133' }, 'no informer shows it yet');
  assert.deepEqual(pool.choose('a', service(), [], nobody), { ip: '10.0.0.134' });
  assert.deepEqual(pool.choose('c', service(), [service('10.0.0.132')], new Set(['10.0.0.131'])), {
    ip: '10.0.0.130',
  });
  pool.free('b');
  assert.deepEqual(pool.choose('d', service(), [], nobody), { ip: '10.0.0.133' });
});

test('who was given one before the controller began keeps it, unless another has it as well', () => {
  const pool = new AddressPool('10.0.0.128/29');
  assert.deepEqual(pool.choose('a', service('10.0.0.130'), [], nobody), { ip: '10.0.0.130' });
  assert.deepEqual(pool.choose('b', service('10.0.0.130'), [service('10.0.0.130')], nobody), {
    ip: '10.0.0.134',
  });
  assert.deepEqual(pool.choose('c', service('192.0.2.1'), [], nobody), { ip: '10.0.0.133' });
});

test('the one that is asked for, or why not; and when none is left', () => {
  const pool = new AddressPool('10.0.0.128/30');
  const asks = (loadBalancerIP: string): Service => service(undefined, { loadBalancerIP });
  assert.deepEqual(pool.choose('a', asks('10.0.0.129'), [], nobody), { ip: '10.0.0.129' });
  assert.deepEqual(pool.choose('b', asks('10.0.0.129'), [], nobody), {
    refusal: 'spec.loadBalancerIP 10.0.0.129 is taken',
  });
  assert.deepEqual(pool.choose('b', asks('10.0.1.1'), [], nobody), {
    refusal: 'spec.loadBalancerIP 10.0.1.1 is not one of 10.0.0.128/30',
  });
  assert.deepEqual(pool.choose('b', service(), [], nobody), { ip: '10.0.0.130' });
  assert.deepEqual(pool.choose('c', service(), [], nobody), {
    refusal: 'all 4 addresses of 10.0.0.128/30 are taken',
  });
  assert.throws(() => new AddressPool('fd00::/64'), /is no range of IPv4 addresses/);
});
