// As which addresses of Services a node is heard: those that the machine looks for there, written as differences.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../api/generated/types/core-v1.ts';
import { parseIp } from '../base/ip.ts';
import { countReads } from '../base/testing/counted-reads.ts';
import { atOnce } from '../base/turns.ts';
import type { LinkInfo, RouteInfo } from '../os/links.ts';
import { Announced, type Heard, heardOn } from './announced.ts';

const route = (to: string, dev: string): RouteInfo => ({ to, dev, unreachable: false, protocol: '4' });
const routes = [
  route('default', 'eth0'),
  route('192.168.0.0/24', 'eth0'),
  route('172.30.0.0/24', 'phb-us'),
  route('172.30.1.0/24', 'phb-others'),
  route('10.244.0.0/24', 'phb-us'),
  route('203.0.113.0/24', 'phb-us'),
  route('203.0.113.128/25', 'eth0'),
  { ...route('203.0.113.64/28', 'phb-us'), unreachable: true },
  route('198.51.100.7', 'phb-us'),
];
const found = [{ addresses: ['192.168.0.10/24'] }, { addresses: ['172.30.0.1/24', '203.0.113.3/32'] }];
const look = { found: found as unknown as LinkInfo[], routes };

const service = (name: string, spec: object, ingress: readonly string[] = [], namespace = 'd'): Service => ({
  metadata: { name, namespace },
  spec: spec as Service['spec'],
  status: { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
});
const lines = (announced: Announced, heard: Heard = () => true, rule = ''): string[] =>
  atOnce(announced.text('s', heard, rule))
    .split('\n')
    .slice(0, -1);
/** What was to be written, and it was. */
async function written(announced: Announced, heard?: Heard, rule?: string): Promise<string[]> {
  const text = lines(announced, heard, rule);
  await announced.written(async () => undefined);
  return text;
}

test('a node is heard as an address only where the machine routes it to the bridge: never as its own, others, the world', () => {
  const heard = heardOn('phb-us', look, ['10.244.0.0/16', '10.96.0.0/12']);
  const asked = (...addresses: string[]) => addresses.filter((address) => heard(parseIp(address)!));
  const yes = ['172.30.0.200', '203.0.113.7', '198.51.100.7'];
  assert.deepEqual(asked(...yes), yes);
  assert.deepEqual(asked('8.8.8.8', '192.168.0.1', '192.168.0.10', '172.30.1.2', '198.51.100.8'), []);
  assert.deepEqual(asked('172.30.0.1', '203.0.113.3', '203.0.113.200', '203.0.113.65'), []);
  assert.deepEqual(asked('10.244.0.9', '10.96.0.10'), []);
});

test('addresses of Services of both kinds, each once, and nothing that is no address', async () => {
  const announced = new Announced();
  const hostile = ['203.0.113.7', '1.2.3.4 } ; flush ruleset', '::1'];
  assert.equal(announced.change(undefined, service('a', { externalIPs: hostile })), true);
  announced.change(undefined, service('b', { type: 'LoadBalancer' }, ['203.0.113.8']));
  assert.equal(announced.change(undefined, service('c', { type: 'ClusterIP' }, ['203.0.113.9'])), false);
  announced.change(undefined, service('d', { externalIPs: ['203.0.113.7'] }, [], 'other'));
  assert.deepEqual(lines(announced), ['flush set s', 'add element s { 203.0.113.7, 203.0.113.8 }']);
});

test('a change is written as its difference; the whole when nobody knows what is there', async () => {
  const announced = new Announced();
  const [one, two] = [service('a', { externalIPs: ['1.0.0.1'] }), service('a', { externalIPs: ['1.0.0.2'] })];
  const other = service('b', { externalIPs: ['1.0.0.2'] }, [], 'other');
  announced.change(undefined, one);
  assert.deepEqual(await written(announced), ['flush set s', 'add element s { 1.0.0.1 }']);
  assert.equal(announced.change(one, { ...one }), false);
  assert.deepEqual(await written(announced), []);
  announced.change(one, two);
  announced.change(undefined, other);
  assert.deepEqual(await written(announced), ['delete element s { 1.0.0.1 }', 'add element s { 1.0.0.2 }']);
  announced.change(two, undefined);
  assert.deepEqual(await written(announced), [], 'another has it');
  announced.change(other, undefined);
  const text = lines(announced);
  assert.deepEqual(text, ['delete element s { 1.0.0.2 }']);
  await assert.rejects(announced.written(() => Promise.reject(new Error('refused'))));
  assert.deepEqual(lines(announced), ['flush set s']);
  await announced.written(async () => announced.forget());
  assert.deepEqual(await written(announced), ['flush set s'], 'the table was written anew meanwhile');
  assert.deepEqual(await written(announced), []);
});

test('routes that change are a difference, too', async () => {
  const announced = new Announced();
  announced.change(undefined, service('a', { externalIPs: ['1.0.0.1', '2.0.0.1'] }));
  await written(announced, () => true, 'both');
  const first = parseIp('1.0.0.1')!;
  assert.deepEqual(await written(announced, (address) => address.value === first.value, 'one'), [
    'delete element s { 2.0.0.1 }',
  ]);
});

test('a small change is not paid for by what others announce; a namespace has its share', async () => {
  const announced = new Announced();
  const counted = countReads(20_000);
  const large = Array.from({ length: 20_000 }, (_, i) => `5.0.${i >> 8}.${i & 255}`);
  for (const name of ['a', 'b', 'c'])
    announced.change(undefined, service(name, { externalIPs: counted.of(large) }, [], 'large'));
  const [text] = (await written(announced)).slice(1);
  assert.equal(text!.split(',').length, 4096);
  const before = counted.reads();
  announced.change(undefined, service('small', { externalIPs: ['9.9.9.9'] }));
  assert.deepEqual(await written(announced), ['add element s { 9.9.9.9 }']);
  assert.equal(counted.reads(), before);
});
