// Waits for the server and the nodes of a cluster, and says soon when one of their processes does not stay.
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { nodes as nodesResource } from '../../api/generated/resources.ts';
import type { Node } from '../../api/generated/types/core-v1.ts';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import type { Client } from '../../client/client.ts';
import { createClient } from '../../client/create-client.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { httpTransport } from '../../client/transport-http.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { askProcess } from '../supervisor/ask-process.ts';
import type { SupervisedProcess } from '../supervisor/supervision.ts';

const serverTimeoutMs = 60_000;
const nodesTimeoutMs = 120_000;
const everyMs = 50;
const lookEveryMs = 100;
const readyPath = '/readyz?exclude=etcd-quota';
const answerTimeoutMs = 5_000;

export interface OpenClient {
  readonly client: Client;
  close(): Promise<void>;
}

export async function clientOf(kubeconfig: string, connectTimeoutMs?: number): Promise<OpenClient> {
  const { transport } = await loadKubeconfig(kubeconfig, (path) => readFile(path));
  const open = httpTransport(systemClock, { ...transport, connectTimeoutMs });
  return { client: createClient(open), close: () => open.close() };
}

/** Resolves when /readyz says ok: a full store serves whoever makes room. */
export async function waitForServer(
  kubeconfig: string,
  /** Throws when there is nothing to wait for any more. */
  check: () => void,
  log: string,
): Promise<void> {
  const { client, close } = await clientOf(kubeconfig);
  const isReady = () => client.raw({ method: 'GET', path: readyPath }).then(({ status }) => status === 200);
  try {
    await waitUntil(isReady, check, log);
  } finally {
    await close();
  }
}

/** The same for whoever has no credentials, or those of before: nobody's are needed to ask. */
export function waitForAnyServer(url: string, check: () => void, log: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const asked = { host: hostname, port: Number(port), path: readyPath, mayRefuse: true };
  return waitUntil(() => askProcess(asked, AbortSignal.timeout(answerTimeoutMs)), check, log);
}

/** Until a process answers to whoever asks it whether it works. */
export function waitForProcess(
  { role, liveness, logFile }: SupervisedProcess,
  check: () => void,
): Promise<void> {
  const answers = async (): Promise<boolean> =>
    liveness === undefined || askProcess(liveness, AbortSignal.timeout(answerTimeoutMs));
  return waitUntil(answers, check, logFile, role);
}

async function waitUntil(
  isReady: () => Promise<boolean>,
  check: () => void,
  log: string,
  what = 'server',
): Promise<void> {
  const until = performance.now() + serverTimeoutMs;
  for (;;) {
    check();
    if (await isReady().catch(() => false)) return;
    if (performance.now() > until)
      throw new Error(`the ${what} is not ready after ${serverTimeoutMs / 1000} s; see ${log}`);
    await delay(everyMs);
  }
}

/** All Nodes that there are, by name. Rejects when the server does not answer within the time. */
export async function knownNodes(
  kubeconfig: string,
  timeoutMs: number,
): Promise<ReadonlyMap<string, Readiness>> {
  const { client, close } = await clientOf(kubeconfig, timeoutMs);
  const late = setTimeout(() => void close(), timeoutMs);
  try {
    const { items } = await client.list(nodesResource);
    return new Map(items.map((node) => [node.metadata.name, readiness(node)]));
  } finally {
    clearTimeout(late);
    await close();
  }
}

export interface Readiness {
  readonly ready: boolean;
  readonly why: string;
  /** No pods are scheduled to it. */
  readonly cordoned: boolean;
}

const readiness = (node: Node): Readiness => {
  const condition = node.status?.conditions?.find((one) => one.type === 'Ready');
  return {
    ready: condition?.status === 'True',
    why: condition?.message ?? 'no status yet',
    cordoned: node.spec?.unschedulable === true,
  };
};

export interface AwaitedNode {
  readonly name: string;
  /** Whether its agent answers: the Node's condition may be that of one that ended. Undefined: its Node says enough. */
  readonly answers?: ((signal: AbortSignal) => Promise<boolean>) | undefined;
  readonly check: () => void;
  readonly log: string;
}

export interface AwaitedNodes {
  /** As far as they are known. */
  list(): readonly Node[];
  /** Of the next change. */
  changed(): Promise<void>;
}

/** Resolves when every node is Ready, and its agent has answered. */
export async function waitForNodes(
  kubeconfig: string,
  awaited: readonly AwaitedNode[],
  detail: (text: string) => void,
): Promise<void> {
  const { client, close } = await clientOf(kubeconfig);
  try {
    const informers = createInformerFactory({
      client,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    });
    const known = informers.informer(nodesResource);
    let news = Promise.withResolvers<void>();
    const tell = (): void => {
      news.resolve();
      news = Promise.withResolvers();
    };
    known.addHandler({ added: tell, updated: tell });
    informers.start();
    try {
      await untilReady({ list: () => known.lister.list(), changed: () => news.promise }, awaited, detail);
    } finally {
      await informers.stop();
    }
  } finally {
    await close();
  }
}

/** Until something has changed, and not for longer than a moment: processes that end change no Node. */
async function nextLook(changed: Promise<void>): Promise<void> {
  const waited = new AbortController();
  await Promise.race([changed, delay(lookEveryMs, undefined, { signal: waited.signal })]);
  waited.abort();
}

export async function untilReady(
  nodes: AwaitedNodes,
  awaited: readonly AwaitedNode[],
  detail: (text: string) => void,
): Promise<void> {
  const until = performance.now() + nodesTimeoutMs;
  const silent = new Set(awaited.filter(({ answers }) => answers !== undefined));
  for (;;) {
    for (const node of awaited) node.check();
    const changed = nodes.changed();
    const known = new Map(nodes.list().map((node) => [node.metadata.name, readiness(node)]));
    const isReady = ({ name }: AwaitedNode): boolean => known.get(name)?.ready === true;
    const waiting = awaited.filter((node) => !isReady(node) || silent.has(node));
    if (waiting.length === 0) return;
    const why = waiting
      .map((node) => {
        const said = known.get(node.name)?.why ?? 'not registered yet';
        return `${node.name}: ${isReady(node) ? 'its agent does not answer' : said}`;
      })
      .join('; ');
    if (performance.now() > until)
      throw new Error(
        `not Ready after ${nodesTimeoutMs / 1000} s: ${why}\nsee ${waiting.map((node) => node.log).join(', ')}`,
      );
    detail(`waiting for ${waiting.map((node) => node.name).join(', ')}`);
    await askAgents(waiting.filter(isReady), silent);
    if (waiting.some((node) => !isReady(node) || silent.has(node))) await nextLook(changed);
  }
}

/** Who answers is silent no more. */
async function askAgents(nodes: readonly AwaitedNode[], silent: Set<AwaitedNode>): Promise<void> {
  await Promise.all(
    nodes.map(async (node) => {
      const answers = node.answers?.(AbortSignal.timeout(answerTimeoutMs)).catch(() => false);
      if (await answers) silent.delete(node);
    }),
  );
}
