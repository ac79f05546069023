// One pod that floods the cluster's DNS, over UDP and TCP, with names inside and outside: the others are answered all the same.
import assert from 'node:assert/strict';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { type DecodedPacket, decode, encode } from 'dns-packet';
import { endpointslices, namespaces, services } from '../../src/api/generated/resources.ts';
import type { Service } from '../../src/api/generated/types/core-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import type { Informer } from '../../src/client/cache/informer.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { createDnsHandler } from '../../src/network/dns/dns-server.ts';
import { framed } from '../../src/wire/dns-frames.ts';
import { type DnsListener, listenDns } from '../../src/wire/dns-sockets.ts';
import { eventually } from '../harness/eventually.ts';
import { createMemoryInformer } from '../harness/memory-informer.ts';

const [here, flooder, other] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
const inside = 'web.default.svc.cluster.local';
const lists = [
  createMemoryInformer<Service>(services, [
    {
      metadata: { name: 'web', namespace: 'default' },
      spec: { clusterIP: '10.96.0.20', ports: [{ port: 80 }] },
    },
  ]),
  createMemoryInformer(endpointslices),
  createMemoryInformer(namespaces),
];

let server: DnsListener;
let upstream: UdpSocket;
/** Answers to the questions that the resolver outside was asked and keeps waiting. */
const kept: (() => void)[] = [];
let answersAll = false;
const sockets: UdpSocket[] = [];

async function udp(address: string): Promise<UdpSocket> {
  const socket = createSocket('udp4');
  sockets.push(socket);
  socket.bind(0, address);
  await once(socket, 'listening');
  return socket;
}
const query = (name: string, id = 1): Buffer =>
  encode({ type: 'query', id, questions: [{ name, type: 'A' }] });

before(async () => {
  upstream = await udp(here!);
  upstream.on('message', (packet, from) => {
    const { id, questions } = decode(packet);
    const { name } = questions![0]!;
    const answer = encode({
      type: 'response',
      id: id!,
      questions: questions!,
      answers: [{ type: 'A', name, data: '192.0.2.1' }],
    });
    const send = (): void => upstream.send(answer, from.port, from.address);
    if (name.startsWith('flood') && !answersAll) kept.push(send);
    else send();
  });
  const handle = createDnsHandler({
    informers: {
      informer: <T>(resource: ResourceRef<T>): Informer<T> =>
        lists.find((one) => one.resource.resource === resource.resource) as unknown as Informer<T>,
    },
    upstreams: () => [{ address: here!, port: upstream.address().port }],
    // However busy the machine: who has waited long enough makes room for the next.
    upstreamTimeoutMs: 600_000,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  server = await listenDns({ address: '0.0.0.0', port: 0, handle });
});
after(async () => {
  await server.close();
  for (const socket of sockets) socket.close();
});

async function ask(socket: UdpSocket, name: string): Promise<DecodedPacket> {
  const answer = once(socket, 'message');
  socket.send(query(name), server.port, here);
  return decode((await answer)[0] as Buffer);
}
const addressesIn = (answer: DecodedPacket): unknown[] =>
  answer.answers!.map((record) => ('data' in record ? record.data : undefined));

describe('a flood of DNS questions from one pod', () => {
  it('of names outside has a bounded number on the way; another pod resolves such names meanwhile', async () => {
    const socket = await udp(flooder!);
    let refused = 0;
    socket.on('message', (packet) => {
      if ((packet.readUInt16BE(2) & 15) === 2) refused++;
    });
    const count = 1500;
    for (let i = 0; i < count; i++) {
      socket.send(query(`flood${i}.example`, i), server.port, here);
      if (i % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => assert.ok(refused > 1000 && kept.length >= 100, `${refused}, ${kept.length}`), {
      everyMs: 5,
    });
    assert.equal(kept.length, 100, 'no more are on the way at once');
    const pod = await udp(other!);
    assert.deepEqual(addressesIn(await ask(pod, 'fine.example')), ['192.0.2.1']);
    assert.deepEqual(addressesIn(await ask(pod, inside)), ['10.96.0.20']);
    answersAll = true;
    for (const answer of kept) answer();
  });

  it('over TCP, unread, does not keep another pod from names', async () => {
    const many = Buffer.concat(Array.from({ length: 2000 }, () => framed(query(inside))));
    const crowd = await Promise.all(
      Array.from({ length: 80 }, async () => {
        const socket = connect({ port: server.port, host: here!, localAddress: flooder! });
        socket.on('error', () => undefined);
        await once(socket, 'connect');
        socket.pause();
        for (let i = 0; i < 10; i++) socket.write(many);
        return socket;
      }),
    );
    const pod = await udp(other!);
    for (let i = 0; i < 20; i++) assert.deepEqual(addressesIn(await ask(pod, inside)), ['10.96.0.20']);
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 200; i++) await ask(pod, inside);
    assert.ok(process.memoryUsage().rss - before < 128 << 20);
    for (const socket of crowd) socket.destroy();
  });
});
