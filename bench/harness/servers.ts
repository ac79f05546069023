// Starts the server to be measured and its floor, each a process of its own over a scratch folder on the checkout's disk.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Client } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { type Kubeconfig, loadKubeconfig } from '../../src/client/kubeconfig.ts';
import { readAll } from '../../src/client/transport.ts';
import { httpTransport } from '../../src/client/transport-http.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import type { LoadJob, LoadResult, Target } from './load-job.ts';

/** Not the temporary folder, which may be memory: writes are to be synced to a disk. */
export function scratch(): string {
  return mkdtempSync(fileURLToPath(new URL('../../.cache-bench-', import.meta.url)));
}

/** A process that ends with this one, however this one ends. */
export const withUs = (program: string, args: readonly string[]): [string, string[]] => [
  'setpriv',
  ['--pdeathsig', 'KILL', program, ...args],
];

const launcher = fileURLToPath(new URL('../../bin/porthole', import.meta.url));

export interface BenchServer {
  /** With the administrator's client certificate. */
  readonly target: Target;
  readonly client: Client;
  readonly directory: string;
  /** From the start of the process to the first `ok` of /readyz. */
  readonly readyMs: number;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  await gone;
}

async function until(
  child: ChildProcess,
  deadlineMs: number,
  holds: () => Promise<boolean> | boolean,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    if (await Promise.resolve(holds()).catch(() => false)) return;
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error('the server ended at its start');
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** API server and store alone, as the reference was measured. */
export const apiServerAlone: readonly string[] = ['dns', 'scheduler', 'controllers'];

export interface BenchServerOptions {
  /** Components to leave out. Default: none. */
  readonly disable?: readonly string[];
  /** Further flags of the server. */
  readonly flags?: readonly string[];
  /** Reused when given: the second start of a server. */
  readonly directory?: string;
}

/** The launcher bundles a checkout that has changed: neither part of a start nor of a profile. */
let isBundled = false;

function bundle(): void {
  if (!isBundled) execFileSync(launcher, ['--version'], { stdio: ['ignore', 'ignore', 'inherit'] });
  isBundled = true;
}

export async function startBenchServer(options: BenchServerOptions = {}): Promise<BenchServer> {
  const directory = options.directory ?? scratch();
  const port = await freePort();
  const args = [
    'server',
    '--data-dir',
    directory,
    '--secure-port',
    String(port),
    '--bind-address',
    '127.0.0.1',
    ...(options.flags ?? []),
  ];
  if (options.disable) args.push('--disable', options.disable.join(','));
  const profile = process.env.BENCH_PROFILE
    ? { NODE_OPTIONS: `--import=${new URL('profile.ts', import.meta.url).href}` }
    : {};
  bundle();
  const started = performance.now();
  const child = spawn(...withUs(launcher, [...args, '--log-level', 'silent']), {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...profile },
  });
  const kubeconfig = join(directory, 'admin.kubeconfig');
  const read = (): Promise<Kubeconfig> => loadKubeconfig(kubeconfig, async (path) => readFileSync(path));
  await until(child, 20_000, async () => (await read()).transport.server.endsWith(`:${port}`));
  const { transport } = await read();
  const http = httpTransport(systemClock, transport);
  const client = createClient(http);
  await until(child, 20_000, async () => {
    const answer = await http.request({ method: 'GET', path: '/readyz', headers: {} });
    await readAll(answer.body, 1_000);
    return answer.status === 200;
  });
  const readyMs = performance.now() - started;
  return {
    target: {
      origin: transport.server,
      pid: child.pid!,
      ca: String(transport.ca),
      cert: String(transport.cert),
      key: String(transport.key),
    },
    client,
    directory,
    readyMs,
    async stop() {
      await http.close();
      await ended(child);
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

export interface FloorServer {
  target(protocol: 'h2' | 'http/1.1'): Target;
  stop(): Promise<void>;
}

/** A bare server that answers `answer`, with the certificate of `beside`. */
export async function startFloorServer(beside: BenchServer, answer: Buffer): Promise<FloorServer> {
  const answerFile = join(beside.directory, 'floor-answer');
  writeFileSync(answerFile, answer);
  const pki = join(beside.directory, 'pki');
  const child = spawn(
    ...withUs(process.execPath, [
      fileURLToPath(new URL('floor-server.ts', import.meta.url)),
      join(pki, 'apiserver.crt'),
      join(pki, 'apiserver.key'),
      answerFile,
      join(beside.directory, 'floor-log'),
    ]),
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const line = await new Promise<string>((resolve) =>
    child.stdout!.once('data', (chunk: Buffer) => resolve(chunk.toString())),
  );
  const ports = JSON.parse(line) as Record<'h2' | 'http/1.1', number>;
  return {
    target: (protocol) => ({
      origin: `https://127.0.0.1:${ports[protocol]}`,
      pid: child.pid!,
      ca: beside.target.ca,
    }),
    stop: () => ended(child),
  };
}

/** One run of the load client. */
export async function load(target: Target, work: LoadJob['work']): Promise<LoadResult> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('load-client.ts', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify({ target, work }));
  const output = await text(child.stdout);
  if (output === '') throw new Error(`the load client failed at ${JSON.stringify(work).slice(0, 200)}`);
  return JSON.parse(output) as LoadResult;
}
