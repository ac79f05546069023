// Adds a node to a cluster that is up, and takes one out again.
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { removeFabricNodes } from '../../network/fabric.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { createLinuxHost } from '../../os/linux/host-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { linuxFabricPorts } from '../compose/compose-fabric.ts';
import type { Progress } from '../progress.ts';
import { portholeCache } from '../setup/locations.ts';
import { forgetProcess } from '../supervisor/supervise-cluster.ts';
import { bringUp, settleNodes, type Wanted } from './bring-up.ts';
import { withClusterLock } from './cluster-lock.ts';
import { noSuchCluster } from './cluster-name.ts';
import type { PlannedNode } from './cluster-plan.ts';
import {
  type ClusterPaths,
  type ClusterState,
  clusterPaths,
  type NodeRecord,
  workableCluster,
} from './cluster-state.ts';
import { deleteNode, drainNode } from './drain-node.ts';
import { endContainers } from './end-containers.ts';
import { sayWhenInterrupted } from './interrupted.ts';
import { shareLoadedImages } from './node-images.ts';
import { isNodeName, nextNodeName, parseNodeName } from './node-name.ts';
import { endProcesses } from './own-processes.ts';
import { buildBeneath } from './prepare-machine.ts';
import { clientOf } from './wait-ready.ts';
import { runningProcesses } from './what-runs.ts';

interface Where {
  readonly home: string;
  readonly cache: string;
  /** Of the cluster. */
  readonly name: string;
}

const graceMs = 10_000;
const connectTimeoutMs = 5_000;
const mostNodes = 100;

/** `begin` says how to go on when ^C comes from then on. */
async function withCluster<T>(
  where: Where,
  progress: Progress,
  body: (state: ClusterState, begin: (next: string) => void) => Promise<T>,
): Promise<T> {
  // Whose lock leaves a file must be there.
  if (!existsSync(clusterPaths(where.home, where.name).root)) throw new Error(noSuchCluster(where.name));
  let left = 'nothing was changed';
  const begin = (next: string): void => {
    left = next;
  };
  return sayWhenInterrupted(
    progress.say,
    () => `interrupted: ${left}`,
    () => withClusterLock(linuxProcesses, where, progress, () => body(workableCluster(where), begin)),
  );
}

/** What `up` was asked for stays in the record: the same command goes on finding its cluster. */
const wantedWith = (where: Where, state: ClusterState, nodes: Wanted['nodes']): Wanted => ({
  settings: { ...where, topology: state.topology },
  known: {
    ...state,
    madeWith: state.madeWith ?? state.nodes.map(({ ip, netns, ...planned }) => planned),
  },
  runtime: state.runtime,
  nodes,
});

const kindOf = ({ os, windowsBuild, windowsTaint }: PlannedNode): string =>
  [os, windowsBuild, windowsTaint ? 'with --windows-taint' : undefined]
    .filter((one) => one !== undefined)
    .join(' ');

/** Undefined: the next name that is free. One that is there already is only waited for. */
export async function addNode(
  where: Where,
  asked: Omit<PlannedNode, 'name'> & { readonly node: string | undefined },
  progress: Progress,
): Promise<NodeRecord> {
  return withCluster(where, progress, async (state, begin) => {
    const { node, ...kind } = asked;
    const wanted = { name: parseNodeName(node ?? nextNodeName(kind.os, state.nodes)), ...kind };
    const present = state.nodes.find(({ name }) => name === wanted.name);
    if (present && kindOf(present) !== kindOf(wanted))
      throw new Error(
        `node ${wanted.name} is there already, and is ${kindOf(present)}; porthole node remove ${wanted.name} --name ${where.name} takes it out`,
      );
    if (!present && state.nodes.length >= mostNodes)
      throw new Error(`cluster ${JSON.stringify(where.name)} has ${mostNodes} nodes, and takes no more`);
    if (present) progress.say(`node ${wanted.name} is in cluster ${where.name} already`);
    const nodes = present ? state.nodes : [...state.nodes, wanted];
    begin(
      `node ${wanted.name} of cluster ${where.name} is begun; the same command with its name goes on with it, porthole node remove ${wanted.name} --name ${where.name} takes it out`,
    );
    const now = await bringUp(wantedWith(where, state, nodes), progress);
    if (now.runtime === 'containerd') await shareLoadedImages({ ...where, node: wanted.name }, progress);
    return now.nodes.find(({ name }) => name === wanted.name)!;
  });
}

export interface RemoveNode extends Where {
  readonly node: string;
  readonly force: boolean;
  readonly timeoutMs: number;
}

function nodeOf({ name, nodes }: ClusterState, node: string): NodeRecord {
  const found = nodes.find((one) => one.name === node);
  if (!found)
    throw new Error(
      `there is no node ${JSON.stringify(node)} in cluster ${JSON.stringify(name)}; it has ${nodes.map((one) => one.name).join(', ')}`,
    );
  if (nodes.length === 1)
    throw new Error(`${node} is the only node of its cluster: porthole down --name ${name} takes both away`);
  return found;
}

/** All that it is on this machine but its place on the network. */
async function endNode(paths: ClusterPaths, state: ClusterState, { name }: NodeRecord): Promise<void> {
  const role = `agent ${name}`;
  await forgetProcess(linuxProcesses, paths.root, role);
  const running = await runningProcesses(linuxFiles, paths, state);
  await endProcesses(
    running.filter((one) => one.role === role),
    graceMs,
  );
  const isReal = state.runtime === 'containerd';
  const host = createLinuxHost(
    isReal ? { beneath: await buildBeneath(linuxProcesses, portholeCache()) } : {},
  );
  if (isReal) await endContainers(host, paths.node(name), state, { keep: false });
  await (host.beneath?.remove ?? host.files.remove)(paths.node(name));
}

async function removeCable({ id }: ClusterState, { name }: NodeRecord): Promise<void> {
  const ports = linuxFabricPorts();
  try {
    await removeFabricNodes(ports, id, [name]);
  } finally {
    await ports.packetFilter.close();
  }
}

/** Until it was told, the server kept renewed what it finds of a node here. */
const remainsOf = ({ logs, node }: ClusterPaths, name: string): string[] => [
  `${logs}/agent-${name}.log`,
  node(name),
];

/** Of one that the record has no more: its removal was killed. */
const isLeftOver = (paths: ClusterPaths, { nodes }: ClusterState, name: string): boolean =>
  !nodes.some((one) => one.name === name) && isNodeName(name) && remainsOf(paths, name).some(existsSync);

/** Of the cluster and of the network. */
async function takeOut(
  paths: ClusterPaths,
  state: ClusterState,
  options: RemoveNode,
  progress: Progress,
): Promise<void> {
  const node = nodeOf(state, options.node);
  const { client, close } = await clientOf(paths.kubeconfig, connectTimeoutMs);
  try {
    await progress.step(`pods leave ${node.name}`, (detail) => drainNode({ client, ...options, detail }));
    await progress.step(`${node.name} ends`, () => endNode(paths, state, node));
    await deleteNode({ client, node: node.name });
  } finally {
    await close();
  }
  if (state.runtime === 'containerd') await removeCable(state, node);
}

/** The API server must answer: what it knows of the node goes first. A removal that was killed is ended by the next. */
export async function removeNode(options: RemoveNode, progress: Progress): Promise<void> {
  await withCluster(options, progress, async (state, begin) => {
    const { home, name, node } = options;
    const paths = clusterPaths(home, name);
    begin(
      `node ${node} of cluster ${name} takes no new pods, as far as it is there; the same command ends its removal, porthole up --name ${name} and kubectl uncordon ${node} keep it`,
    );
    if (!isLeftOver(paths, state, node)) await takeOut(paths, state, options, progress);
    const nodes = state.nodes.filter((one) => one.name !== node);
    await settleNodes(wantedWith(options, state, nodes), progress);
    for (const left of remainsOf(paths, node)) await rm(left, { recursive: true, force: true });
  });
}
