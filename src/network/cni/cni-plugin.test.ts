// Addresses and cables of pods: handed out once, given back, refused when the node is not ready.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../component-base/logger.ts';
import { createFakeLinks, type FakeLinks } from '../../os/testing/fake-links.ts';
import { createFakePacketFilter, type FakePacketFilter } from '../../os/testing/fake-packet-filter.ts';
import { type Attachment, type AttachmentStore, attachmentKey } from './attachments.ts';
import { answerCni } from './cni-daemon.ts';
import { type CniPlugin, createCniPlugin } from './cni-plugin.ts';

interface World {
  readonly plugin: CniPlugin;
  readonly links: FakeLinks;
  readonly packetFilter: FakePacketFilter;
  readonly records: Map<string, Attachment>;
  ask(command: string, id: string, more?: object, env?: Record<string, string>): Promise<[string, unknown]>;
}

function memoryStore(records: Map<string, Attachment>): AttachmentStore {
  return {
    load: async () => ({ attachments: [...records.values()], broken: [] }),
    put: async (attachment) => void records.set(attachmentKey(attachment), attachment),
    remove: async (of) => void records.delete(attachmentKey(of)),
  };
}

async function world(records = new Map<string, Attachment>(), cidr?: string): Promise<World> {
  const inside = new Map<string, FakeLinks>();
  const links = createFakeLinks((netns) => inside.get(netns));
  const packetFilter = createFakePacketFilter();
  const plugin = createCniPlugin(
    {
      links,
      packetFilter,
      store: memoryStore(records),
      log: silentLogger,
      linksInside: async (path) => inside.get(path) ?? inside.set(path, createFakeLinks()).get(path),
    },
    { shape: 'routed' },
  );
  await plugin.start();
  if (cidr !== undefined) plugin.setPodCIDR(cidr);
  return {
    plugin,
    links,
    packetFilter,
    records,
    ask: async (command, id, more = {}, env = {}) => {
      const all = {
        CNI_COMMAND: command,
        CNI_CONTAINERID: id,
        CNI_NETNS: `/run/netns/${id}`,
        CNI_IFNAME: 'eth0',
        ...env,
      };
      const text = Object.entries(all).map(([key, value]) => `${key}=${value}\0`);
      const configuration = { cniVersion: '1.0.0', name: 'porthole', type: 'porthole', ...more };
      const answer = (
        await answerCni(
          plugin,
          Buffer.from(`${text.join('')}\0${JSON.stringify(configuration)}`),
          silentLogger,
        )
      ).toString();
      return [answer[0]!, answer.length > 1 ? JSON.parse(answer.slice(1)) : undefined];
    },
  };
}
const addressOf = ([code, result]: [string, unknown]): string => {
  assert.equal(code, '0', JSON.stringify(result));
  return (result as { ips: { address: string }[] }).ips[0]!.address;
};

test('addresses are handed out once, are not reused at once, and survive a restart', async () => {
  const w = await world(new Map(), '10.244.1.0/29');
  const first = await Promise.all(['a', 'b', 'c'].map((id) => w.ask('ADD', id).then(addressOf)));
  assert.deepEqual(first, ['10.244.1.2/32', '10.244.1.3/32', '10.244.1.4/32']);
  await w.ask('DEL', 'b');
  assert.equal(addressOf(await w.ask('ADD', 'd')), '10.244.1.5/32');
  const restarted = await world(w.records, '10.244.1.0/29');
  assert.equal(addressOf(await restarted.ask('ADD', 'e')), '10.244.1.6/32');
  assert.equal(addressOf(await restarted.ask('ADD', 'f')), '10.244.1.3/32');
  const [code, error] = await restarted.ask('ADD', 'g');
  assert.deepEqual(
    [code, error],
    ['1', { cniVersion: '1.0.0', code: 11, msg: 'no IP addresses available in range set: 10.244.1.0/29' }],
  );
});

test('before the node has a podCIDR, ADD says try again and STATUS says not available', async () => {
  const w = await world();
  assert.equal((await w.ask('ADD', 'a'))[0], '1');
  assert.equal(((await w.ask('ADD', 'a'))[1] as { code: number }).code, 11);
  assert.equal(((await w.ask('STATUS', '', { cniVersion: '1.1.0' }))[1] as { code: number }).code, 50);
  assert.throws(() => w.plugin.setPodCIDR('fd00::/64'), /not an IPv4 prefix/);
});

test('an ADD that fails half way gives everything back', async () => {
  const w = await world(new Map(), '10.244.1.0/24');
  w.packetFilter.failNext('no');
  const [code] = await w.ask('ADD', 'a', {
    runtimeConfig: { portMappings: [{ hostPort: 80, containerPort: 8080, protocol: 'TCP' }] },
  });
  assert.equal(code, '1');
  assert.equal(w.records.size, 0);
  assert.deepEqual(
    (await w.links.links()).map((link) => link.name),
    ['lo'],
  );
});

test('host ports become elements of maps and go with their pod; a bad mapping is refused', async () => {
  const w = await world(new Map(), '10.244.1.0/24');
  const mapping = (m: object) => ({ runtimeConfig: { portMappings: [m] } });
  await w.ask('ADD', 'a', mapping({ hostPort: 80, containerPort: 8080, hostIP: '172.30.0.2' }));
  assert.match(
    w.packetFilter.applied.at(-1)!,
    /add element .* bound \{ 172\.30\.0\.2 \. tcp \. 80 : 10\.244\.1\.2 \. 8080 \}/,
  );
  await w.ask('DEL', 'a');
  assert.match(w.packetFilter.applied.at(-2)!, /delete element .* bound \{ 172\.30\.0\.2 \. tcp \. 80 \}/);
  // As containerd writes it.
  await w.ask('ADD', 'b', mapping({ HostPort: 53, ContainerPort: 5353, Protocol: 'udp', HostIP: '' }));
  assert.match(
    w.packetFilter.applied.at(-1)!,
    /add element .* any \{ udp \. 53 : 10\.244\.1\.\d+ \. 5353 \}/,
  );
  await w.ask('DEL', 'b');
  for (const m of [
    { hostPort: 70_000, containerPort: 1 },
    { hostPort: 1, containerPort: '1; drop' },
    { hostPort: 1, containerPort: 1, protocol: 'icmp' },
  ])
    assert.equal(((await w.ask('ADD', 'b', mapping(m)))[1] as { code: number }).code, 7);
  assert.equal(
    (await w.ask('ADD', 'c', mapping({ hostPort: 1, containerPort: 1, hostIP: '} drop' })))[0],
    '0',
  );
  assert.doesNotMatch(w.packetFilter.applied.join(''), /\} drop/);
});

test('a DEL whose rules got no answer fails and is repeated: what redirects to a pod that is gone does not stay', async () => {
  const w = await world(new Map(), '10.244.1.0/24');
  await w.ask('ADD', 'a', { runtimeConfig: { portMappings: [{ hostPort: 80, containerPort: 8080 }] } });
  w.packetFilter.hangNext();
  assert.equal((await w.ask('DEL', 'a'))[0], '1');
  assert.equal(w.records.size, 1);
  assert.equal((await w.ask('DEL', 'a'))[0], '0');
  assert.match(w.packetFilter.applied.at(-2)!, /^delete element ip porthole-hostports /);
  assert.equal(w.records.size, 0);
});

test("a pod's cable lets its own addresses through, from before it is there until after it is gone, and after a restart", async () => {
  const records = new Map<string, Attachment>();
  const w = await world(records, '10.244.1.0/24');
  const own = '"ph0af40102" . 0a:58:0a:f4:01:02 . 10.244.1.2';
  const said = (verb: string): string =>
    ['inet', 'arp'].map((family) => `${verb} element ${family} porthole-pods pods { ${own} }\n`).join('');
  await w.ask('ADD', 'a');
  assert.equal(w.packetFilter.applied.at(-1), said('add'));
  const again = await world(new Map(records));
  assert.ok(again.packetFilter.applied.at(-1)!.endsWith(said('add')), 'with the table, in one transaction');
  assert.match(again.packetFilter.applied.at(-1)!, /^add table inet porthole-pods\ndelete table inet/);
  await w.ask('DEL', 'a');
  assert.equal(w.packetFilter.applied.at(-1), said('delete'));
});

test('GC takes what the runtime no longer knows, and results have the shape of their version', async () => {
  const w = await world(new Map(), '10.244.1.0/24');
  for (const id of ['a', 'b', 'c']) await w.ask('ADD', id);
  const [code] = await w.ask('GC', '', {
    cniVersion: '1.1.0',
    'cni.dev/valid-attachments': [{ containerID: 'b', ifname: 'eth0' }],
  });
  assert.equal(code, '0');
  assert.deepEqual(
    w.plugin.attachments().map((one) => one.containerID),
    ['b'],
  );
  assert.equal((await w.ask('GC', ''))[0], '1', 'without the list nothing is taken');
  assert.deepEqual((await w.ask('ADD', 'old', { cniVersion: '0.2.0' }))[1], {
    cniVersion: '0.2.0',
    ip4: { ip: '10.244.1.5/32', gateway: '169.254.1.1', routes: [{ dst: '0.0.0.0/0' }] },
    dns: {},
  });
  const [, result] = await w.ask('ADD', 'mid', { cniVersion: '0.4.0' });
  assert.equal((result as { ips: { version?: string }[] }).ips[0]!.version, '4');
  const [, loopback] = await w.ask(
    'ADD',
    'lo',
    { cniVersion: '0.3.1', name: 'cni-loopback', type: 'loopback' },
    { CNI_IFNAME: 'lo' },
  );
  assert.equal((loopback as { ips: { address: string }[] }).ips[0]!.address, '127.0.0.1/8');
});

test('hostile questions get an error of the specification', async () => {
  const w = await world(new Map(), '10.244.1.0/24');
  const code = async (question: string | Buffer): Promise<number> =>
    JSON.parse((await answerCni(w.plugin, Buffer.from(question), silentLogger)).toString().slice(1)).code;
  assert.equal(await code(''), 6);
  assert.equal(await code('CNI_COMMAND=ADD'), 6);
  assert.equal(await code('CNI_COMMAND=ADD\0\0{}'), 4);
  const env = 'CNI_COMMAND=ADD\0CNI_CONTAINERID=a\0CNI_NETNS=/run/netns/a\0CNI_IFNAME=eth0\0\0';
  assert.equal(await code(`${env}${'['.repeat(100_000)}`), 6);
  assert.equal(await code(`${env}[]`), 6);
  assert.equal(await code(`${env}{"cniVersion":"1.0.0"}`), 7);
  assert.equal(await code(`${env}{"cniVersion":"1.0.0","name":"../x"}`), 7);
  assert.equal(await code(`${env}{"__proto__":{"name":"x"},"cniVersion":"1.0.0"}`), 7);
  assert.equal(
    await code(
      `${env}{"name":"x","cniVersion":"1.0.0","runtimeConfig":{"portMappings":{"length":1e9}}}`.replace(
        'a\0CNI_NETNS',
        '..\0CNI_NETNS',
      ),
    ),
    4,
  );
  assert.equal(w.records.size, 0);
});

test('a pod whose cable was taken away gets it back with its address, once, and only as long as it is there', async () => {
  const w = await world(new Map(), '10.244.1.0/24');
  assert.equal(addressOf(await w.ask('ADD', 'a')), '10.244.1.2/32');
  assert.equal(addressOf(await w.ask('ADD', 'b')), '10.244.1.3/32');
  const [whole, routes] = [await w.links.links(), await w.links.routes()];
  const sorted = async (): Promise<unknown> =>
    (await w.links.links()).map(({ name, mac, up }) => `${name} ${mac} ${up}`).sort();
  const before = await sorted();
  const name = whole.find((link) => link.name.startsWith('ph'))!.name;
  w.links.disturb([{ do: 'deleteLink', name }]);
  assert.notDeepEqual(await sorted(), before);
  await w.plugin.keepCables(await w.links.links());
  assert.deepEqual(await sorted(), before);
  assert.equal((await w.links.routes()).length, routes.length);
  assert.equal((await w.ask('CHECK', 'a'))[0], '0');
  // An old look changes nothing, and who has left gets nothing.
  await w.plugin.keepCables([]);
  assert.deepEqual(await sorted(), before);
  const left = w.ask('DEL', 'a');
  await w.plugin.keepCables([]);
  await left;
  await w.plugin.keepCables(await w.links.links());
  assert.equal((await w.links.links()).length, 2);
});
