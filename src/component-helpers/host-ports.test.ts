// Host ports of a node: which are taken, also when there are thousands.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countReads } from '../base/testing/counted-reads.ts';
import { type HostPort, UsedHostPorts } from './host-ports.ts';

const at = (port: number, ip = '', protocol = 'TCP'): HostPort => ({ ip, port, protocol });

test('a port of every address is taken by any, and one of an address by that and by every', () => {
  const used = new UsedHostPorts();
  used.add([at(80), at(81, '10.0.0.1'), at(82, '0.0.0.0')]);
  for (const port of [at(80, '10.0.0.9'), at(81), at(81, '::'), at(81, '10.0.0.1'), at(82, '10.0.0.1')])
    assert.ok(used.has(port), JSON.stringify(port));
  for (const port of [at(80, '', 'UDP'), at(81, '10.0.0.2'), at(83)])
    assert.ok(!used.has(port), JSON.stringify(port));
  used.add([at(80)]);
  used.remove([at(80)]);
  assert.ok(used.has(at(80)), 'another pod still has it');
  used.remove([at(80), at(81, '10.0.0.1')]);
  assert.ok(!used.has(at(80)) && !used.has(at(81)));
});

test('thousands that a pod asks for are not compared with the thousands that a node has', () => {
  const { of } = countReads(20 * 5000);
  const list = (first: number): HostPort[] => Array.from({ length: 5000 }, (_, i) => of(at(first + i)));
  const used = new UsedHostPorts();
  used.add(list(10_000));
  assert.ok(!list(20_000).some((port) => used.has(port)));
});
