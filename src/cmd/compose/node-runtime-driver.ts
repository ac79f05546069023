// What the agent is composed of beside its kubelet: one driver for each runtime that a node can have.
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import type { KubeletOptions } from '../../kubelet/kubelet.ts';
import type { RuntimeKind } from '../cluster/cluster-state.ts';
import type { NodeLayout } from '../cluster/node-layout.ts';
import type { FileClient } from './node-credentials.ts';

/** The flags of `porthole agent`. */
export interface AgentOptions {
  readonly kubeconfig: string;
  readonly nodeName: string;
  readonly nodeIp: string;
  /** Its next hop to everywhere else. Undefined: the machine's own affair. */
  readonly nodeGateway?: string;
  readonly dataDir: string;
  readonly os: 'linux' | 'windows';
  readonly windowsBuild: number;
  readonly windowsTaint: boolean;
  readonly runtime: RuntimeKind;
  readonly topology: string;
  readonly clusterCidr: string;
  readonly serviceClusterIpRange: string;
  readonly clusterDns: string;
  readonly clusterDomain: string;
  readonly podMaxPids: number;
  /** `cpu=100m,memory=256Mi,pid=1000`. */
  readonly kubeReserved: string;
  readonly systemReserved: string;
  readonly nftablesSyncPeriod: number;
  /** Of folders named after registries, with hosts.toml or certificates in them. */
  readonly registryConfig: string;
  /** `nodefs.available<10%,memory.available<100Mi`; undefined: upstream's. */
  readonly evictionHard?: string | undefined;
  readonly port: number;
  readonly cacheDir: string;
  readonly verbose: boolean;
}

export interface AgentSurroundings {
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
}

export interface RuntimeInput extends AgentSurroundings {
  readonly options: AgentOptions;
  readonly layout: NodeLayout;
  /** The kubelet's. */
  readonly client: Client;
  /** What is opened is closed with it; containers, and what they need, go on. */
  readonly opened: AsyncDisposableStack;
}

export interface OpenedRuntime {
  readonly kubelet: Pick<KubeletOptions, 'runtime' | 'nodeOs' | 'host'>;
  /** Its own clients of the API server. */
  readonly clients: readonly FileClient[];
}

export interface NodeRuntimeDriver {
  open(input: RuntimeInput): Promise<OpenedRuntime>;
  /** An agent that was here before does not answer any more. */
  forgetLiveness(layout: NodeLayout): void;
  /** From then on whoever looks finds that this one lives. Returns what ends it. */
  answerLiveness(layout: NodeLayout, kubeletPort: number): Promise<() => void | Promise<void>>;
}
