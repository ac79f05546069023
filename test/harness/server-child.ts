// A real `porthole server` as a child process, to be killed, stopped and started again on its data directory.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '../../src/client/client.ts';
import { createClient } from '../../src/client/create-client.ts';
import { loadKubeconfig } from '../../src/client/kubeconfig.ts';
import type { Transport } from '../../src/client/transport.ts';
import { httpTransport } from '../../src/client/transport-http.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

let built: string | undefined;

/** The launcher's bundle starts in a fraction of the sources' time; the process itself is what signals reach. */
export function bundle(): string {
  built ??= buildBundle();
  return built;
}

function buildBundle(): string {
  const { status, stderr } = spawnSync(join(root, 'bin/porthole'), ['version'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return join(root, 'dist/porthole.mjs');
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerChildOptions {
  readonly dataDir: string;
  /** Default: the API server alone. */
  readonly disable?: readonly string[];
  readonly arguments?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Connection {
  readonly client: Client;
  /** What the client has no method for. */
  readonly transport: Transport;
  /** Breaks whatever is under way. */
  close(): Promise<void>;
}

export interface ServerChild {
  readonly pid: number;
  /** What it wrote to standard error. */
  said(): string;
  /** A connection of its own. */
  connect(): Promise<Connection>;
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
  /** SIGKILL, and gone. */
  kill(): Promise<void>;
}

/** Resolves once it serves; rejects with what it said when it ends before. */
export async function startServerChild(options: ServerChildOptions): Promise<ServerChild> {
  const { dataDir, disable = ['dns', 'scheduler', 'controllers'] } = options;
  const args = ['server', '--data-dir', dataDir, '--secure-port', '0', '--bind-address', '127.0.0.1'];
  if (disable.length > 0) args.push('--disable', disable.join(','));
  const child: ChildProcess = spawn(process.execPath, [bundle(), ...args, ...(options.arguments ?? [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  let said = '';
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal }));
  const serves = once(child.stdout!, 'data');
  await Promise.race([
    serves,
    ended.then(({ code, signal }) => {
      throw new Error(`the server ended with ${code ?? signal}: ${said}`);
    }),
  ]);
  child.stdout!.resume();
  return {
    pid: child.pid!,
    said: () => said,
    ended,
    connect: async () => {
      const { transport } = await loadKubeconfig(join(dataDir, 'admin.kubeconfig'), (path) => readFile(path));
      const open = httpTransport(systemClock, transport);
      return { client: createClient(open), transport: open, close: () => open.close() };
    },
    signal: (name) => {
      process.kill(child.pid!, name);
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
