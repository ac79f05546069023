// Two or more nodes with real namespaces, CNI daemons, routes and pods inside a test box; no API server, no containers.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodes as nodesResource, services as servicesResource } from '../../src/api/generated/resources.ts';
import type { Node, Service } from '../../src/api/generated/types/core-v1.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import type { CniDaemon } from '../../src/network/cni/cni-daemon.ts';
import { createFabric, destroyFabric, type Fabric, type FabricPorts } from '../../src/network/fabric.ts';
import type { NetworkAgent } from '../../src/network/network-agent.ts';
import { startNodeNetwork } from '../../src/network/node-network.ts';
import { startPodRouter } from '../../src/network/pod-router.ts';
import { type KeptTables, keepTables } from '../../src/os/kept-tables.ts';
import { linuxFiles } from '../../src/os/linux/files-linux.ts';
import { processesInNetns } from '../../src/os/linux/netns-linux.ts';
import { linuxNetworkHost } from '../../src/os/linux/network-host-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import type { NetworkHost } from '../../src/os/network-host.ts';
import type { PacketFilter } from '../../src/os/packet-filter.ts';
import { type Processes, runOrThrow } from '../../src/os/processes.ts';
import { createMemoryInformer, type MemoryInformer } from './memory-informer.ts';

export const clusterCIDR = '10.244.0.0/16';
const serviceCIDR = '10.96.0.0/12';

export interface TestNode {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  readonly address: string;
  readonly netnsPath: string;
  readonly podCIDR: string;
  readonly processes: Processes;
  readonly host: NetworkHost;
  readonly packetFilter: PacketFilter;
  readonly tables: KeptTables;
  readonly binDir: string;
  readonly confDir: string;
  readonly dataDir: string;
  cni: CniDaemon;
  agent: NetworkAgent;
}

export interface TestPod {
  readonly name: string;
  readonly node: TestNode;
  readonly ip: string;
  readonly netnsPath: string;
  readonly processes: Processes;
  readonly result: { ips: { address: string; gateway: string }[] };
}

export interface NetworkCluster {
  readonly fabric: Fabric;
  readonly ports: FabricPorts;
  readonly nodes: readonly TestNode[];
  readonly nodeInformer: MemoryInformer<Node>;
  readonly serviceInformer: MemoryInformer<Service>;
  readonly folder: string;
  addPod(name: string, node: TestNode, runtimeConfig?: object): Promise<TestPod>;
  deletePod(pod: TestPod): Promise<void>;
  cni(
    node: TestNode,
    env: Record<string, string>,
    configuration: unknown,
    plugin?: string,
  ): Promise<{ code: number; stdout: string }>;
  close(): Promise<void>;
}

export function nodeObject(name: string, os: string, address: string, podCIDR?: string): Node {
  return {
    metadata: { name, labels: { 'kubernetes.io/os': os } },
    spec: { podCIDR, podCIDRs: podCIDR === undefined ? undefined : [podCIDR] },
    status: { addresses: [{ type: 'InternalIP', address }] },
  };
}

async function startNode(options: {
  name: string;
  os: 'linux' | 'windows';
  fabric: Fabric;
  index: number;
  folder: string;
  client: string;
  nodeInformer: MemoryInformer<Node>;
}): Promise<TestNode> {
  const { name, os, fabric, folder } = options;
  const placed = fabric.nodes.find((node) => node.name === name)!;
  const processes = processesInNetns(linuxProcesses, placed.netnsPath);
  const host = linuxNetworkHost(processes);
  const tables = keepTables({ packetFilter: host.packetFilter, clock: systemClock, log: silentLogger });
  const base = join(folder, name);
  const dataDir = join(base, 'data');
  const binDir = join(base, 'bin');
  const confDir = join(base, 'net.d');
  const network = await startNodeNetwork({
    nodeName: name,
    os,
    nodes: options.nodeInformer,
    uplink: { address: placed.address, gateway: fabric.gateway },
    topology: 'host-gateway',
    clusterCIDR,
    serviceCIDR,
    dataDir,
    cniClient: options.client,
    cniBinDir: binDir,
    cniConfDir: confDir,
    host,
    tables,
    files: linuxFiles,
    clock: systemClock,
    log: silentLogger,
  });
  const podCIDR = `10.244.${options.index + 1}.0/24`;
  const { address } = placed;
  options.nodeInformer.put(nodeObject(name, os, address, podCIDR));
  await network.ready();
  const { packetFilter } = host;
  const { agent, cni } = network;
  return {
    name,
    os,
    address,
    netnsPath: placed.netnsPath,
    podCIDR,
    processes,
    host,
    packetFilter,
    tables,
    binDir,
    confDir,
    dataDir,
    cni,
    agent,
  };
}

export async function startNetworkCluster(
  spec: readonly { name: string; os: 'linux' | 'windows' }[],
): Promise<NetworkCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'net-'));
  const ports = { ...linuxNetworkHost(linuxProcesses), files: linuxFiles };
  const fabric = await createFabric(ports, {
    clusterName: 'e2e',
    nodes: spec,
    access: { ports: [], everything: true },
  });
  const client = await buildNative(linuxProcesses, folder, {
    name: 'cni-client',
    target: 'linux',
    source: fileURLToPath(new URL('../../native/cni-client.c', import.meta.url)),
  });
  const nodeInformer = createMemoryInformer<Node>(nodesResource);
  const serviceInformer = createMemoryInformer<Service>(servicesResource);
  const nodes: TestNode[] = [];
  for (const [index, one] of spec.entries())
    nodes.push(await startNode({ ...one, fabric, index, folder, client, nodeInformer }));
  const tables = keepTables({ packetFilter: ports.packetFilter, clock: systemClock, log: silentLogger });
  const router = startPodRouter({
    nodes: nodeInformer,
    services: serviceInformer,
    topology: 'host-gateway',
    clusterName: 'e2e',
    clusterCIDR,
    serviceCIDR,
    host: ports,
    tables,
    clock: systemClock,
    log: silentLogger,
  });
  await router.ready();

  const cni: NetworkCluster['cni'] = async (node, env, configuration, plugin = 'porthole') => {
    const result = await linuxProcesses.run(join(node.binDir, plugin), [], {
      env,
      input: typeof configuration === 'string' ? configuration : JSON.stringify(configuration),
    });
    return { code: result.code, stdout: result.stdout.toString() };
  };
  const environment = (command: string, pod: string): Record<string, string> => ({
    CNI_COMMAND: command,
    CNI_CONTAINERID: `id-${pod}`,
    CNI_NETNS: `/run/netns/pod-${pod}`,
    CNI_IFNAME: 'eth0',
  });
  const configuration = { cniVersion: '1.0.0', name: 'porthole', type: 'porthole' };
  return {
    fabric,
    ports,
    nodes,
    nodeInformer,
    serviceInformer,
    folder,
    cni,
    addPod: async (name: string, node: TestNode, runtimeConfig: object = {}) => {
      await ports.namespaces.create([`pod-${name}`]);
      const { code, stdout } = await cni(node, environment('ADD', name), { ...configuration, runtimeConfig });
      assert.equal(code, 0, stdout);
      const result = JSON.parse(stdout) as TestPod['result'];
      const netnsPath = `/run/netns/pod-${name}`;
      const ip = result.ips[0]!.address.split('/')[0]!;
      return { name, node, ip, netnsPath, result, processes: processesInNetns(linuxProcesses, netnsPath) };
    },
    deletePod: async (pod) => {
      const { code, stdout } = await cni(pod.node, environment('DEL', pod.name), configuration);
      assert.equal(code, 0, stdout);
      await ports.namespaces.delete([`pod-${pod.name}`]);
    },
    close: async () => {
      await tables.stop();
      await router.stop();
      for (const node of nodes) {
        await node.tables.stop();
        await node.agent.stop();
        await node.cni.close();
        await node.packetFilter.close();
      }
      const pods = (await ports.namespaces.list()).filter((name) => name.startsWith('pod-'));
      await ports.namespaces.delete(pods);
      await destroyFabric(ports, { clusterName: 'e2e', nodes: spec });
      await ports.packetFilter.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** True when one ICMP echo comes back. */
export async function pings(from: Processes, address: string): Promise<boolean> {
  return (await from.run('busybox', ['ping', '-q', '-c1', '-W2', address])).code === 0;
}

export async function textOf(from: Processes, command: string, ...args: string[]): Promise<string> {
  return (await runOrThrow(from, command, args)).trim();
}

const probe = fileURLToPath(new URL('./net-probe.mjs', import.meta.url));

/** A server in the namespace that answers `name <client's address>`; returns how to end it. */
export async function serveProbe(
  inside: Processes,
  name: string,
  tcpPort: number,
  udpPort: number = tcpPort,
): Promise<() => void> {
  const child = inside.spawn(process.execPath, [probe, 'serve', name, String(tcpPort), String(udpPort)]);
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    void child.exited.then((code) => reject(new Error(`${name}: server ended with code ${code}`)));
  });
  return () => child.kill('SIGKILL');
}

/** Answers or error codes, one for each new connection. */
export async function ask(
  from: Processes,
  protocol: 'tcp' | 'udp',
  host: string,
  port: number,
  options: { readonly count?: number; readonly localPort?: number } = {},
): Promise<string[]> {
  const local = options.localPort === undefined ? [] : [String(options.localPort)];
  const args = [probe, protocol, host, String(port), String(options.count ?? 1), ...local];
  return JSON.parse(await runOrThrow(from, process.execPath, args)) as string[];
}
