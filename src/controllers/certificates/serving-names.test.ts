// What an approver believes of a kubelet's serving certificate: nothing that only the asker says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/generated/types/core-v1.ts';
import { notItsOwn } from './serving-names.ts';

const node = (name: string, podCIDR: string, ...ips: string[]): Node => ({
  metadata: { name },
  spec: { podCIDR, podCIDRs: [podCIDR] },
  status: {
    addresses: [
      ...ips.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: 'good' },
    ],
  },
});
const servers = ['172.30.0.1'];
const services = ['10.96.0.0/16'];
const good = node('good', '10.244.1.0/24', '172.30.0.2');
const own = '172.30.0.3';
const evil = (...claimed: string[]): Node => node('evil', '10.244.2.0/24', own, ...claimed);

test("a serving certificate has the node's own name and an address that is nobody else's", () => {
  const ask = (dnsNames: string[], ips: string[], of = evil(...ips)): string | undefined =>
    notItsOwn({ dnsNames, ips }, 'evil', { nodes: [good, of], servers, services });
  assert.equal(ask(['evil'], [own]), undefined);
  assert.equal(ask([], [own]), undefined);
  for (const [dns, ip, why] of [
    ['good', own, "good is not the node's name"],
    ['kubernetes.default', own, "kubernetes.default is not the node's name"],
    ['evil', '172.30.0.2', 'Node good has 172.30.0.2, too'],
    ['evil', '172.30.0.1', "172.30.0.1 is the API server's"],
    ['evil', '10.96.0.1', '10.96.0.1 is for Services'],
    ['evil', '10.244.1.7', '10.244.1.7 is for pods'],
    ['evil', '::ffff:ac1e:2', 'Node good has 172.30.0.2, too'],
  ] as const)
    assert.equal(ask([dns], [own, ip]), why);
  assert.equal(ask(['evil'], ['172.30.0.9'], evil()), 'Node evil does not have 172.30.0.9');
  assert.equal(
    notItsOwn({ dnsNames: ['gone'], ips: [] }, 'gone', { nodes: [good], servers, services }),
    'there is no Node gone',
  );
});
