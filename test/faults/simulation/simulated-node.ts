// One node: a machine with a runtime that goes on without its agent, and an agent that can die and come again.

import { nodes } from '../../../src/api/generated/resources.ts';
import type { Client } from '../../../src/client/client.ts';
import type { Logger } from '../../../src/component-base/logger.ts';
import { windowsVersionOf } from '../../../src/component-helpers/windows-image-match.ts';
import { startKubelet } from '../../../src/kubelet/kubelet.ts';
import { createLinuxNodeOs } from '../../../src/kubelet/node-os/linux.ts';
import type { NodeOs } from '../../../src/kubelet/node-os/node-os.ts';
import { createWindowsNodeOs } from '../../../src/kubelet/node-os/windows.ts';
import { createSimulatedCri, simulatedLabels } from '../../../src/kubelet/simulated/simulated-cri.ts';
import { createSimulatedRuntime } from '../../../src/kubelet/simulated/simulated-runtime.ts';
import type { Files } from '../../../src/os/files.ts';
import type { HostStats } from '../../../src/os/stats.ts';
import type { Cri } from '../../../src/rpc-api/cri.ts';
import { frozenInformers } from '../../harness/frozen-informers.ts';
import { randomOf } from './chance.ts';
import { type Network, SimulatedProcess } from './simulated-process.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface NodePlan {
  readonly name: string;
  readonly os: 'linux' | 'windows';
  readonly windowsBuild: number;
  readonly zone: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly address: string;
}

export interface World {
  readonly seed: number;
  readonly time: VirtualTime;
  readonly network: Network;
  readonly log: Logger;
  /** As the kubelet of this node. */
  nodeClient(name: string): Client;
}

const version = 'v1.36.0';

const nodeOsOf = ({ os, windowsBuild, zone }: NodePlan): NodeOs => {
  const labels = { ...simulatedLabels, 'topology.kubernetes.io/zone': zone };
  if (os === 'linux') return createLinuxNodeOs({ osImage: 'Simulated', kernelVersion: '6.1.0', labels });
  const known = windowsVersionOf(windowsBuild)!;
  return createWindowsNodeOs({
    build: known.build,
    osImage: known.productName,
    kernelVersion: known.kernelVersion,
    emulated: true,
    simulated: true,
    hostDrive: '/drive-c',
    labels,
  });
};

function statsOf(plan: NodePlan): HostStats {
  const disk = { capacityBytes: 1e12, availableBytes: 9e11, usedBytes: 1e11, inodes: 1e8, inodesFree: 9e7 };
  return {
    machine: async () => ({
      hostname: plan.name,
      cpuCount: plan.cpus,
      memoryBytes: plan.memoryBytes,
      swapBytes: 0,
      machineId: plan.name,
      systemUuid: plan.name,
      bootId: plan.name,
      bootedAtMs: 0,
      kernelVersion: '6.1.0',
      osImage: 'Simulated',
      maxPids: 32768,
      appArmor: false,
    }),
    usage: async () => ({ memoryAvailableBytes: 1e9, memoryWorkingSetBytes: 1e9, cpuUsageNs: 0, pids: 100 }),
    disk: async () => disk,
    traffic: async () => [],
  };
}

/** A simulated node has no files; whoever asks for one has gone past its runtime. */
const noFiles = {
  lstat: async () => undefined,
  stat: async () => undefined,
  list: async () => [],
} as unknown as Files;

export class SimulatedNode {
  readonly plan: NodePlan;
  readonly cri: Cri;
  readonly #world: World;
  #agent: SimulatedProcess | undefined;
  #life = 0;

  constructor(plan: NodePlan, world: World) {
    this.plan = plan;
    this.#world = world;
    this.cri = createSimulatedCri({
      clock: world.time.clock,
      random: randomOf(world.seed, `runtime of ${plan.name}`),
      podCidr: () => this.#podCidr(),
      version,
    });
  }

  get agent(): SimulatedProcess | undefined {
    return this.#agent?.isDead === true ? undefined : this.#agent;
  }

  /** Once the control plane has assigned it. */
  async #podCidr(): Promise<string> {
    const client = this.#world.nodeClient(this.plan.name);
    for (;;) {
      const { podCIDR } = (await client.get(nodes, { name: this.plan.name })).spec;
      if (podCIDR) return podCIDR;
      await this.#world.time.clock.sleep(200);
    }
  }

  start(): SimulatedProcess {
    if (this.agent !== undefined) return this.agent;
    const { network, seed, time } = this.#world;
    const name = `kubelet of ${this.plan.name}`;
    const agent = new SimulatedProcess(name, time.clock, network);
    this.#agent = agent;
    const random = randomOf(seed, `${name} ${this.#life++}`);
    void this.#run(agent, random);
    return agent;
  }

  async #run(agent: SimulatedProcess, random: ReturnType<typeof randomOf>): Promise<void> {
    const { log, network } = this.#world;
    const { address, name } = this.plan;
    const client = agent.client(this.#world.nodeClient(name));
    const common = { client, clock: agent.clock, random, log };
    const informers = frozenInformers(common);
    const stats = statsOf(this.plan);
    while (!agent.isDead) {
      try {
        await startKubelet({
          ...common,
          informers,
          host: { files: noFiles, stats },
          nodeOs: nodeOsOf(this.plan),
          runtime: createSimulatedRuntime(this.cri, stats),
          nodeName: name,
          nodeIPs: [address],
          dns: { servers: [], domain: 'cluster.local', host: { servers: [], searches: [], options: [] } },
          version,
        });
        break;
      } catch (error) {
        network.note(`${agent.name} did not start: ${String(error)}`);
        await agent.clock.sleep(1000);
      }
    }
    await new Promise<void>((resolve) => agent.signal.addEventListener('abort', () => resolve()));
    await informers.stop();
  }

  /** The agent alone: what runs goes on. */
  killAgent(): void {
    this.#agent?.kill();
  }

  /** The machine: nothing of it runs any more. */
  async lose(): Promise<void> {
    this.killAgent();
    for (const { id = '' } of await this.cri.runtime.listPodSandbox())
      await this.cri.runtime.stopPodSandbox(id);
  }
}
