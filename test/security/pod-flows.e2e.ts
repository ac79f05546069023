// The table of connections of a node: what one pod may have of it, and that the others go on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { tableSizeKey } from '../../src/network/flow-shares.ts';
import {
  type NetworkCluster,
  startNetworkCluster,
  type TestPod,
  textOf,
} from '../harness/network-cluster.ts';

const probe = fileURLToPath(new URL('../harness/net-probe.mjs', import.meta.url));
const sockets = 64;
const ports = 500;
/** Datagrams from each of the sockets to each of the ports of an address: each begins what is tracked as a connection. */
const flood = `
const { createSocket } = require('node:dgram');
const [address] = process.argv.slice(1);
const turn = () => new Promise((resolve) => setImmediate(resolve));
(async () => {
  for (let i = 0; i < ${sockets}; i++) {
    const socket = createSocket('udp4');
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.bind(0, resolve));
    for (let port = 20000; port < 20000 + ${ports}; port++) {
      socket.send('x', port, address);
      if (port % 50 === 0) await turn();
    }
    await turn();
  }
  console.log('sent');
  process.exit();
})();`;

let cluster: NetworkCluster;
let hostile: TestPod;
let elsewhere: TestPod;
let client: TestPod;

before(async () => {
  cluster = await startNetworkCluster([
    { name: 'linux-1', os: 'linux' },
    { name: 'linux-2', os: 'linux' },
  ]);
  const [first, second] = cluster.nodes;
  hostile = await cluster.addPod('hostile', first!);
  client = await cluster.addPod('client', first!);
  elsewhere = await cluster.addPod('elsewhere', second!);
});
after(() => cluster.close());

const tracked = async (node: TestPod['node'], from: string): Promise<number> => {
  const listed = await textOf(node.processes, 'conntrack', '-L', '-s', from, '-o', 'id');
  return listed.split('\n').filter((line) => line.includes(`src=${from} `)).length;
};

test('a pod fills its share of the tables of the nodes, and no more; another pod begins connections as before', async (t) => {
  const server = elsewhere.processes.spawn(process.execPath, [probe, 'serve', 'there', '8080', '8081']);
  t.after(() => server.kill('SIGKILL'));
  await new Promise((resolve) => server.stdout!.once('data', resolve));
  assert.match(await textOf(hostile.processes, process.execPath, '-e', flood, elsewhere.ip), /^sent/);
  const share = Number(await cluster.nodes[0]!.host.sysctl.get(tableSizeKey)) / 16;
  assert.ok(share < sockets * ports, `${sockets * ports} are more than ${share}`);
  for (const node of cluster.nodes) {
    const found = await tracked(node, hostile.ip);
    assert.ok(found > share / 2 && found <= share, `${found} of ${share} on ${node.name}`);
  }
  const answers = JSON.parse(
    await textOf(client.processes, process.execPath, probe, 'tcp', elsewhere.ip, '8080', '50'),
  );
  assert.deepEqual(new Set(answers), new Set([`there ${client.ip}`]));
});
