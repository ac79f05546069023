// The fabric on the real kernel: subnets that collide with nothing, repair after damage, nothing left behind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linuxFabricPorts } from '../../src/cmd/compose/compose-fabric.ts';
import { createFabric, destroyFabric } from '../../src/network/fabric.ts';
import { processesInNetns } from '../../src/os/linux/netns-linux.ts';
import { ownNetworkHost } from '../../src/os/linux/network-host-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { pings, textOf } from '../harness/network-cluster.ts';

const ports = linuxFabricPorts();
const nodes = [{ name: 'linux-1' }, { name: 'windows-1' }];
const a = { clusterName: 'a', nodes };
const b = { clusterName: 'a-b', nodes };
const host = (...args: string[]): Promise<string> => textOf(linuxProcesses, args[0]!, ...args.slice(1));
const state = async (): Promise<string[]> => [
  await host('ip', '-br', 'link'),
  await host('ip', 'route'),
  await host('nft', 'list', 'ruleset'),
  await host('ip', 'netns', 'list'),
  await host('sysctl', '-n', 'net.ipv4.ip_forward'),
];

test('a cluster is made, made again, repaired and removed without a trace', async (t) => {
  t.after(() => ports.packetFilter.close());
  await host('sysctl', '-q', '-w', 'net.ipv4.ip_forward=0');
  await ports.links.apply([
    { do: 'addBridge', name: 'taken' },
    { do: 'replaceAddress', name: 'taken', address: '172.30.0.77/24' },
    { do: 'setLink', name: 'taken', up: true },
  ]);
  const before = await state();

  const first = await createFabric(ports, a);
  assert.equal(first.subnet, '172.30.1.0/24', 'a subnet that is in use is passed over');
  assert.deepEqual(await createFabric(ports, a), first, 'the second time changes nothing');
  const inside = (i: number, fabric = first) => processesInNetns(linuxProcesses, fabric.nodes[i]!.netnsPath);
  assert.ok(await pings(inside(0), first.nodes[1]!.address));
  assert.ok(await pings(inside(0), first.gateway));

  const second = await createFabric(ports, b);
  assert.equal(second.subnet, '172.30.2.0/24');
  assert.ok(await pings(inside(1, second), second.nodes[0]!.address));
  assert.ok(!(await pings(inside(0), second.nodes[0]!.address)), 'clusters do not reach each other');

  const port = /(phn-\w+)@\S+\s+UP.*/.exec(
    await host('ip', '-br', 'link', 'show', 'master', first.bridge),
  )![1]!;
  await ports.links.apply([{ do: 'deleteLink', name: port }]);
  await ports.namespaces.delete([first.nodes[1]!.netns]);
  await host('nft', 'delete', 'table', 'ip', 'porthole-a');
  assert.deepEqual(await createFabric(ports, a), first, 'damage is repaired, addresses stay');
  assert.ok(await pings(inside(0), first.nodes[1]!.address));

  const routes = async () => [await host('ip', 'route'), await textOf(inside(0), 'ip', 'route')];
  const whole = await routes();
  await host('ip', 'route', 'flush', 'dev', first.bridge);
  await textOf(inside(0), 'ip', 'route', 'flush', 'table', 'main');
  assert.ok(!(await pings(inside(0), first.gateway)));
  assert.deepEqual(await createFabric(ports, a), first);
  assert.deepEqual(await routes(), whole, 'routes that the kernel made once are made again');
  assert.ok(await pings(inside(0), first.gateway));

  await destroyFabric(ports, a);
  assert.ok(await pings(inside(0, second), second.nodes[1]!.address), 'the other cluster is untouched');
  await destroyFabric(ports, b);
  await destroyFabric(ports, b);
  assert.deepEqual(await state(), before);
});

test('names that would break out of theirs are refused before anything is made', async () => {
  for (const clusterName of ['', '../x', 'a b', 'A', 'x;drop', 'a\nb', '-a'])
    await assert.rejects(createFabric(ports, { clusterName, nodes }), /cluster name/);
  await assert.rejects(createFabric(ports, { clusterName: 'c', nodes: [{ name: 'a/../b' }] }), /node name/);
});

test('of changes that fail all are named, and the others are made; settings are read by the names they were asked by', async (t) => {
  t.after(() => ports.links.apply([{ do: 'deleteLink', name: 'kept.1' }], { keepGoing: 'silently' }));
  const failed = ports.links.apply(
    [
      { do: 'deleteLink', name: 'none1' },
      { do: 'addBridge', name: 'kept.1' },
      { do: 'deleteLink', name: 'none2' },
    ],
    { keepGoing: 'report' },
  );
  await assert.rejects(failed, {
    message:
      'ip link delete dev none1: Cannot find device "none1"; ip link delete dev none2: Cannot find device "none2"',
  });
  const setting = 'net/ipv4/conf/kept.1/rp_filter';
  await ports.sysctl.set({ [setting]: '2' });
  assert.deepEqual(await ports.sysctl.read([setting, 'net/ipv4/conf/none/rp_filter']), { [setting]: '2' });
});

test('a table is whole as long as each of its chains has rules', async (t) => {
  const filter = ownNetworkHost().packetFilter;
  const isWhole = async () => (await filter.outlines()).get('ip porthole-whole')?.isWhole;
  t.after(async () => {
    await filter.apply('add table ip porthole-whole\ndelete table ip porthole-whole\n');
    await filter.close();
  });
  await filter.apply(`table ip porthole-whole {
  comment "of a test"
  set some { type ipv4_addr; elements = { 192.0.2.1, 192.0.2.2 }
  }
  chain first { type filter hook input priority filter; policy accept
    ip saddr @some counter accept
  }
  chain second {
    comment "jumped to"
    accept
  }
}
`);
  assert.equal(await isWhole(), true);
  for (const chain of ['first', 'second']) {
    await host('nft', 'flush', 'chain', 'ip', 'porthole-whole', chain);
    assert.equal(await isWhole(), false, chain);
    await host('nft', 'add', 'rule', 'ip', 'porthole-whole', chain, 'counter');
    assert.equal(await isWhole(), true, chain);
  }
});

test('the mount for the names of namespaces goes, though who removed the last name was killed before that', async () => {
  const mounts = async (): Promise<string[]> =>
    (await host('cat', '/proc/self/mountinfo')).split('\n').filter((row) => row.includes(' /run/netns '));
  await host('ip', 'netns', 'add', 'killed');
  await host('ip', 'netns', 'delete', 'killed');
  assert.equal((await mounts()).length, 1);
  await ports.namespaces.delete(['killed']);
  assert.deepEqual(await mounts(), []);
});
