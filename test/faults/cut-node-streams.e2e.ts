// Streams to real containers are cut at random places, on a Linux and an emulated Windows node: nothing of them is left
// of ours: no descriptor and no memory of server and agents, no process in the containers.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { Duplex } from 'node:stream';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { loadKubeconfig } from '../../src/client/kubeconfig.ts';
import { clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { supervisedState } from '../../src/cmd/supervisor/supervision.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { runningPid } from '../../src/kubelet/containerd/containerd-process.ts';
import { createLinuxHost } from '../../src/os/linux/host-linux.ts';
import { SpdyConnection, type SpdyStream } from '../../src/wire/spdy.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { busybox, listManifest } from '../harness/linux-cluster.ts';

const name = 'cuts';
const nodes = ['linux-1', 'windows-1'] as const;
const cutsOfEach = { linux: 20, windows: 12 } as const;
/** 1: some 580 cuts. */
const rounds = Number(process.env['PORTHOLE_CUT_ROUNDS'] ?? 1);
const atOnce = 4;
const patience = { timeoutMs: 60_000, everyMs: 200 };

/** The same cuts in each run, as far as the machine is the same. */
let seed = 20_261_122;
function random(below: number): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}

let cluster: TestCluster;
let server: URL;
let tls: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };

type System = keyof typeof cutsOfEach;
const spam = 'spam '.repeat(40);
const linuxPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'on-linux' },
  spec: {
    terminationGracePeriodSeconds: 1,
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    containers: [
      {
        name: 'main',
        image: busybox,
        command: [
          'sh',
          '-c',
          `mkdir /www; seq 100000 > /www/index.html; httpd -p 80 -h /www; trap "exit 0" TERM; while true; do echo ${spam}; sleep 0.02; done`,
        ],
      },
    ],
  },
};
const windowsPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'on-windows' },
  spec: {
    terminationGracePeriodSeconds: 1,
    nodeSelector: { 'kubernetes.io/os': 'windows' },
    containers: [
      {
        name: 'main',
        image: 'porthole.local/sample/web-windows:ltsc2022',
        readinessProbe: { httpGet: { path: '/healthz', port: 80 }, periodSeconds: 1 },
      },
    ],
  },
};

before(
  async () => {
    cluster = await startTestCluster({ name, linux: 1, windows: 1 });
    const loaded = await cluster.porthole(['image', 'build-samples', '--name', name], { timeoutMs: 300_000 });
    assert.equal(loaded.code, 0, loaded.stderr);
    await cluster.kubectl.apply(listManifest(linuxPod, windowsPod));
    await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=120s']);
    const { transport } = await loadKubeconfig(cluster.kubeconfig, readFile);
    server = new URL(transport.server);
    const { ca, cert, key } = transport;
    tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  },
  { timeout: 600_000 },
);
after(() => cluster?.down(), { timeout: 120_000 });

/** Answers that are no stream. */
const unexpected: string[] = [];
const struck = { streams: 0, beforeAnswer: 0, inTheFlow: 0 };

/** When a stream ends, decided before it begins: after a while, some bytes or a while after it is there, or almost at once. */
class Cutter {
  readonly #way = random(4);
  #left = 1 + random(this.#way === 0 ? 200 : 100_000);
  #seen = false;
  #done = false;
  #kill: () => void = () => undefined;
  readonly #withinMs: number;
  readonly over: Promise<void>;
  #end: () => void = () => undefined;

  constructor(withinMs: number) {
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
    struck.streams++;
    this.#withinMs = random(this.#way === 3 ? withinMs / 10 : withinMs);
    if (this.#way > 1) this.#cutLater();
  }
  #cutLater(): void {
    void delay(this.#withinMs).then(() => this.cut());
  }
  /** The answer has come. On a slow machine that takes longer than what is waited for without it. */
  opened(): void {
    if (this.#way < 2) this.#cutLater();
  }
  /** How to break off what there is by now. */
  by(kill: () => void): void {
    this.#kill = kill;
    if (this.#done) kill();
  }
  got(bytes: number): void {
    this.#seen = true;
    this.#left -= bytes;
    if (this.#way < 2 && this.#left <= 0) this.cut();
  }
  cut(): void {
    if (this.#done) return;
    this.#done = true;
    if (this.#seen) struck.inTheFlow++;
    else struck.beforeAnswer++;
    this.#kill();
    this.#end();
  }
}
type Cut = (cutter: Cutter) => void;

const podPath = (system: System): string => `/api/v1/namespaces/default/pods/on-${system}`;
const words = (command: readonly string[]): string =>
  command.map((word) => `command=${encodeURIComponent(word)}`).join('&');

interface Session {
  readonly system: System;
  /** Subresource with its query. */
  readonly path: string;
  readonly streams: readonly ('stdin' | 'stdout' | 'stderr')[];
  /** What is written next; undefined: nothing more, and the stream stays open. */
  readonly input?: () => () => Buffer | undefined;
}
const querying = ({ path, streams }: Session): string =>
  [path, ...streams.map((stream) => `${stream}=true`)].join(path.includes('?') ? '&' : '?');

function webSocket(path: string, protocol: string, cutter: Cutter): WebSocket {
  const socket = new WebSocket(new URL(path, `wss://${server.host}`), [protocol], tls);
  cutter.by(() => socket.terminate());
  socket.on('error', () => undefined);
  socket.on('unexpected-response', (_, response) => unexpected.push(`${path}: ${response.statusCode}`));
  socket.on('close', () => cutter.cut());
  return socket;
}

/** exec and attach as kubectl 1.36. */
const overWebSocket =
  (session: Session): Cut =>
  (cutter) => {
    const url = `${podPath(session.system)}/${querying(session)}`;
    const socket = webSocket(url, 'v5.channel.k8s.io', cutter);
    socket.on('message', (data: Buffer) => cutter.got(data.length));
    socket.on('open', () => {
      cutter.opened();
      const input = session.input?.();
      const send = (): void => {
        const data = socket.readyState === WebSocket.OPEN ? input?.() : undefined;
        if (data) socket.send(Buffer.concat([Buffer.from([0]), data]), () => setImmediate(send));
      };
      if (session.streams.includes('stdin')) send();
    });
  };

function upgrade(
  path: string,
  headers: Readonly<Record<string, string>>,
  cutter: Cutter,
  use: (socket: Duplex, head: Buffer) => Promise<void>,
): void {
  const request = httpsRequest({
    host: server.hostname,
    port: server.port,
    path,
    method: headers['upgrade'] === 'websocket' ? 'GET' : 'POST',
    agent: false,
    ...tls,
    headers: { connection: 'Upgrade', ...headers },
  });
  cutter.by(() => request.destroy());
  request.on('error', () => cutter.cut());
  request.on('response', (response) => {
    unexpected.push(`${path}: ${response.statusCode}`);
    response.resume();
    cutter.cut();
  });
  request.on('upgrade', (_, socket: Duplex, head: Buffer) => {
    cutter.by(() => socket.destroy());
    cutter.opened();
    void use(socket, head).catch(() => cutter.cut());
  });
  request.end();
}
const upgradeToSpdy = (
  path: string,
  protocol: string,
  cutter: Cutter,
  use: (spdy: SpdyConnection) => Promise<void>,
): void =>
  upgrade(path, { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol }, cutter, (socket, head) =>
    use(spdyOver(socket, head, cutter)),
  );
function spdyOver(socket: Duplex, head: Buffer, cutter: Cutter): SpdyConnection {
  const spdy = new SpdyConnection(socket, head);
  spdy.onClose = () => cutter.cut();
  return spdy;
}
const counting = (cutter: Cutter) => ({
  onData: (data: Buffer) => cutter.got(data.length),
  onEnd: () => undefined,
});

/** exec, attach and cp as older clients. */
const overSpdy =
  (session: Session): Cut =>
  (cutter) =>
    upgradeToSpdy(
      `${podPath(session.system)}/${querying(session)}`,
      'v4.channel.k8s.io',
      cutter,
      async (spdy) => {
        await spdy.createStream({ streamType: 'error' }, counting(cutter));
        const streams = new Map<string, SpdyStream>();
        for (const streamType of session.streams)
          streams.set(streamType, await spdy.createStream({ streamType }, counting(cutter)));
        const stdin = streams.get('stdin');
        const input = session.input?.();
        const send = (): void => {
          const data = spdy.closed ? undefined : input?.();
          if (!data) return;
          if (stdin?.write(data)) setImmediate(send);
          else spdy.onDrain(send);
        };
        if (stdin) send();
      },
    );

/** Some requests at once to the pod's port 80. */
async function forward(spdy: SpdyConnection, cutter: Cutter): Promise<void> {
  for (let i = 0; i < 1 + random(4); i++) {
    const headers = { port: '80', requestID: String(i) };
    await spdy.createStream({ ...headers, streamType: 'error' }, counting(cutter));
    const data = await spdy.createStream({ ...headers, streamType: 'data' }, counting(cutter));
    const text = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
    data.write(Buffer.from(random(3) === 0 ? text.slice(0, random(text.length)) : text));
  }
}
const forwardOverSpdy =
  (system: System): Cut =>
  (cutter) =>
    upgradeToSpdy(`${podPath(system)}/portforward`, 'portforward.k8s.io', cutter, (spdy) =>
      forward(spdy, cutter),
    );
/** The bytes of a connection as messages of a WebSocket; its protocol's name is none that `ws` lets through. */
class Tunnel extends Duplex {
  readonly #socket: Duplex;
  #buffered: Buffer;
  constructor(socket: Duplex, head: Buffer) {
    super();
    this.#socket = socket;
    this.#buffered = head;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => this.destroy());
  }
  #take(chunk: Buffer): void {
    this.#buffered = Buffer.concat([this.#buffered, chunk]);
    while (this.#buffered.length >= 4) {
      const short = this.#buffered[1]!;
      const [start, length] =
        short < 126
          ? [2, short]
          : short === 126
            ? [4, this.#buffered.readUInt16BE(2)]
            : [10, this.#buffered.length < 10 ? Infinity : Number(this.#buffered.readBigUInt64BE(2))];
      if (this.#buffered.length < start + length) return;
      this.push(this.#buffered.subarray(start, start + length));
      this.#buffered = this.#buffered.subarray(start + length);
    }
  }
  override _read(): void {}
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    // Masked with zeroes.
    const head = Buffer.from([0x82, 0xfe, chunk.length >> 8, chunk.length & 255, 0, 0, 0, 0]);
    this.#socket.write(Buffer.concat([head, chunk]), () => done());
  }
  override _destroy(_error: Error | null, done: () => void): void {
    this.#socket.destroy();
    done();
  }
}
const forwardOverWebSocket =
  (system: System): Cut =>
  (cutter) =>
    upgrade(
      `${podPath(system)}/portforward?ports=80`,
      {
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io',
      },
      cutter,
      (socket, head) => forward(spdyOver(new Tunnel(socket, head), Buffer.alloc(0), cutter), cutter),
    );

const logs =
  (system: System): Cut =>
  (cutter) => {
    const path = `${podPath(system)}/log?follow=true`;
    const request = httpsRequest({ host: server.hostname, port: server.port, path, agent: false, ...tls });
    cutter.by(() => request.destroy());
    request.on('error', () => undefined);
    request.on('close', () => cutter.cut());
    request.on('response', (response) => {
      cutter.opened();
      response.on('error', () => undefined);
      response.on('data', (data: Buffer) => cutter.got(data.length));
    });
    request.end();
  };
const logsOverHttp2 =
  (system: System): Cut =>
  (cutter) => {
    const session = connectHttp2(server, tls);
    session.on('error', () => undefined);
    session.on('close', () => cutter.cut());
    const stream = session.request({ ':path': `${podPath(system)}/log?follow=true` });
    stream.on('error', () => undefined);
    stream.on('response', () => cutter.opened());
    stream.on('data', (data: Buffer) => cutter.got(data.length));
    const onlyStream = random(2) === 0;
    cutter.by(() => {
      if (!onlyStream) session.destroy();
      else stream.close(8, () => session.close());
    });
  };

const block = Buffer.alloc(8000, 'stdin goes in and comes out again\n');
const both = ['stdin', 'stdout', 'stderr'] as const;
const outputs = ['stdout', 'stderr'] as const;

const some = (): Buffer => block.subarray(0, 1 + random(block.length));
/** What pipes hold even if nobody reads: see below. */
function little(): () => Buffer | undefined {
  let left = 4;
  return () => (left-- > 0 ? some() : undefined);
}

interface Commands {
  /** Gives back what it reads, and ends with its input. */
  readonly echo: readonly string[];
  /** Writes some ten kilobytes. */
  readonly write: readonly string[];
  /** Reads to the end of its input, which it is given by `input`. */
  readonly read: readonly string[];
  readonly input: Session['input'];
}

function kindsOf(system: System, { echo, write, read, input }: Commands): Readonly<Record<string, Cut>> {
  const session = (
    command: readonly string[],
    streams: Session['streams'],
    input?: Session['input'],
  ): Session => ({
    system,
    path: `exec?${words(command)}`,
    streams,
    ...(input && { input }),
  });
  const attach: Session = { system, path: 'attach', streams: outputs };
  return {
    'exec that echoes, WebSocket': overWebSocket(session(echo, both, little)),
    'exec that echoes, SPDY': overSpdy(session(echo, both, little)),
    'exec that writes, WebSocket': overWebSocket(session(write, outputs)),
    'exec that writes, SPDY (cp from)': overSpdy(session(write, outputs)),
    'exec that reads, WebSocket': overWebSocket(session(read, both, input)),
    'exec that reads, SPDY (cp to)': overSpdy(session(read, both, input)),
    'attach, WebSocket': overWebSocket(attach),
    'attach, SPDY': overSpdy(attach),
    'logs -f, HTTP/1.1': logs(system),
    'logs -f, HTTP/2': logsOverHttp2(system),
    'port-forward, WebSocket': forwardOverWebSocket(system),
    'port-forward, SPDY': forwardOverSpdy(system),
  };
}

const flood: Session = { system: 'linux', path: `exec?${words(['yes', spam])}`, streams: outputs };
/** More than all buffers between the client and the container hold. */
const unread: Session = {
  system: 'linux',
  path: `exec?${words(['tail', '-f', '/dev/null'])}`,
  streams: both,
  input: () => () => block,
};
const kinds: Readonly<Record<System, Readonly<Record<string, Cut>>>> = {
  linux: {
    ...kindsOf('linux', {
      echo: ['cat'],
      write: ['seq', '10000'],
      read: ['sh', '-c', 'cat > /dev/null'],
      input: () => some,
    }),
    'exec that writes without end, WebSocket': overWebSocket(flood),
    'exec that writes without end, SPDY': overSpdy(flood),
    'exec that reads nothing, WebSocket': overWebSocket(unread),
    'exec that reads nothing, SPDY': overSpdy(unread),
  },
  windows: kindsOf('windows', {
    echo: ['findstr', 'stdin'],
    write: ['cmd', '/c', 'dir C:\\windows\\system32'],
    read: ['findstr', 'nothing'],
    input: little,
  }),
};
const withinMs: Readonly<Record<System, number>> = { linux: 300, windows: 1500 };

async function strike(system: System, cut: Cut, times: number): Promise<void> {
  let left = times;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const cutter = new Cutter(withinMs[system]);
      cut(cutter);
      await cutter.over;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

const deps = { host: createLinuxHost(), clock: systemClock, log: silentLogger };
async function watched(): Promise<ReadonlyMap<string, number>> {
  const { root } = clusterPaths(cluster.home, name);
  const pids = new Map<string, number>();
  for (const role of ['server', ...nodes.map((node) => `agent ${node}`)])
    pids.set(role, supervisedState(root, role)!.pid!);
  for (const node of nodes) {
    const { containerdDir } = nodeLayout(clusterPaths(cluster.home, name).node(node));
    pids.set(`containerd ${node}`, (await runningPid(deps, { dir: containerdDir }))!);
  }
  return pids;
}
const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

/** Command lines of the processes in a pod's cgroups. */
function processesOf(uid: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(uid)) return [];
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()];
      } catch {
        return []; // it ended meanwhile
      }
    })
    .filter((line) => line !== '' && line !== 'sleep 0.02');
}

/** A session that is held has two, its client's and the container's. */
const ofNoSession = 1;

test('hundreds of cuts of streams to real containers leave no descriptor, no process and no memory', {
  timeout: 540_000 * rounds,
}, async (t) => {
  const pids = await watched();
  const uids = await Promise.all(
    (['linux', 'windows'] as const).map(async (system) => {
      const { metadata } = await cluster.kubectl.json<{ metadata: { uid: string } }>([
        'get',
        'pod',
        `on-${system}`,
      ]);
      return metadata.uid;
    }),
  );
  const round = async (part: number): Promise<void> => {
    for (const system of ['linux', 'windows'] as const)
      for (const cut of Object.values(kinds[system]))
        await strike(system, cut, Math.ceil(cutsOfEach[system] * part));
  };
  const processes = (): string[] => uids.flatMap(processesOf);
  const calm = new Set(processes());
  const gone = async (): Promise<void> => {
    // As upstream: who writes more than pipes hold, or does not read, when its client goes is not told by containerd, and waits.
    await cluster.kubectl.run(['exec', 'on-linux', '--', 'killall', 'yes', 'tail']);
    await eventually(
      () =>
        assert.deepEqual(
          processes().filter((line) => !calm.has(line)),
          [],
        ),
      patience,
    );
  };
  const open = new Map([...pids].map(([role, pid]) => [role, descriptors(pid)]));
  await round(0.25);
  await gone();
  const memory = new Map([...pids].map(([role, pid]) => [role, residentMb(pid)]));
  // containerd leaves the sockets of sessions that broke off before they had streams to Go's collector: only told.
  const ours = [...pids].filter(([role]) => !role.startsWith('containerd'));
  for (let i = 0; i < rounds; i++) {
    await round(1);
    // Also while the programs that read nothing live.
    await eventually(() => {
      for (const [role, pid] of ours)
        assert.ok(
          descriptors(pid) <= open.get(role)! + ofNoSession,
          `${role}: ${open.get(role)} -> ${descriptors(pid)}`,
        );
    }, patience);
    await gone();
  }
  t.diagnostic(
    `${struck.streams} streams cut, ${struck.beforeAnswer} before their first byte, ${struck.inTheFlow} in the flow`,
  );
  for (const [role, pid] of pids)
    t.diagnostic(
      `${role}: descriptors ${open.get(role)} before, ${descriptors(pid)} after; memory ${memory.get(role)!.toFixed(0)} MB before, ${residentMb(pid).toFixed(0)} MB after`,
    );
  assert.deepEqual(unexpected, []);
  assert.ok(struck.inTheFlow > 50, `${struck.inTheFlow} in the flow`);
  assert.deepEqual(await watched(), pids, 'a process ended');
  for (const [role, pid] of ours)
    assert.ok(residentMb(pid) < memory.get(role)! + 48, `${role} grew to ${residentMb(pid).toFixed(0)} MB`);
  for (const [pod, command] of [
    ['on-linux', ['echo', 'alive']],
    ['on-windows', ['cmd', '/c', 'echo alive']],
  ] as const)
    assert.match(await cluster.kubectl.ok(['exec', pod, '--', ...command]), /alive/);
});

test('a kubectl whose input nobody reads for a while is left alone, and all of it arrives', {
  timeout: 120_000,
}, async () => {
  const bytes = 32 << 20;
  // Longer than some looks at sessions in which nothing moves.
  const command = ['exec', '-i', 'on-linux', '--', 'sh', '-c', 'sleep 8; wc -c'];
  const input = 'x'.repeat(bytes);
  const counts = await Promise.all(
    [cluster.kubectl, cluster.oldKubectl].map((kubectl) => kubectl.ok(command, { input, timeoutMs: 90_000 })),
  );
  assert.deepEqual(counts.map(Number), [bytes, bytes]);
});
