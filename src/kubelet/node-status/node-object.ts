// The Node as it is to be: its labels, capacity, addresses and conditions. Pure.
import type { ContainerImage, Node, NodeCondition, NodeStatus } from '../../api/generated/types/core-v1.ts';
import { formatQuantity, quantityOf } from '../../apimachinery/quantity.ts';
import type { DiskUsage, MachineInfo, MachineUsage } from '../../os/stats.ts';
import {
  type PressureCondition,
  type Signal,
  type Threshold,
  withheldBytes,
} from '../eviction/thresholds.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import type { Reservation } from '../resources/node-reservation.ts';
import type { RuntimeFeatures } from '../runtime/runtime-features.ts';

export interface NodeFacts {
  readonly nodeName: string;
  readonly nodeIPs: readonly string[];
  readonly nodeOs: NodeOs;
  readonly machine: MachineInfo;
  readonly disk: DiskUsage;
  readonly maxPods: number;
  readonly kubeletVersion: string;
  readonly containerRuntimeVersion: string;
  readonly runtimeFeatures: RuntimeFeatures;
  readonly kubeletPort: number;
  /** Kept from pods. */
  readonly reserved: Reservation;
  /** Below these the node is short of something. */
  readonly thresholds: readonly Threshold[];
}

export interface NodeHealth {
  readonly now: string;
  /** Why the node is not ready; empty when it is. */
  readonly problems: readonly string[];
  readonly usage: MachineUsage;
  /** What the node is short of. */
  readonly pressures: readonly PressureCondition[];
  readonly images: readonly ContainerImage[];
}

const bytes = (n: number): string => formatQuantity(quantityOf(Math.floor(n / 1024) * 1024, 'BinarySI'));

function capacityOf(facts: NodeFacts): Record<string, string> {
  return {
    cpu: String(facts.machine.cpuCount),
    memory: bytes(facts.machine.memoryBytes),
    pods: String(facts.maxPods),
    'ephemeral-storage': bytes(facts.disk.capacityBytes),
    ...Object.fromEntries(facts.nodeOs.hugePageSizes.map((size) => [`hugepages-${size}`, '0'])),
  };
}

export function allocatableNumbers(facts: NodeFacts): {
  readonly milliCpu: number;
  readonly memoryBytes: number;
  readonly ephemeralBytes: number;
} {
  const withheld = (signal: Signal, capacity: number): number =>
    withheldBytes(facts.thresholds, signal, capacity);
  const { memoryBytes } = facts.machine;
  const memory = memoryBytes - facts.reserved.memoryBytes - withheld('memory.available', memoryBytes);
  const { capacityBytes } = facts.disk;
  return {
    milliCpu: Math.max(facts.machine.cpuCount * 1000 - facts.reserved.milliCpu, 0),
    memoryBytes: Math.max(memory, 0),
    ephemeralBytes: Math.max(capacityBytes - withheld('nodefs.available', capacityBytes), 0),
  };
}

function allocatableOf(facts: NodeFacts): Record<string, string> {
  const numbers = allocatableNumbers(facts);
  return {
    ...capacityOf(facts),
    cpu: numbers.milliCpu % 1000 === 0 ? String(numbers.milliCpu / 1000) : `${numbers.milliCpu}m`,
    memory: bytes(numbers.memoryBytes),
    'ephemeral-storage': String(numbers.ephemeralBytes),
  };
}

export const nodeLabels = (facts: NodeFacts): Record<string, string> => ({
  'kubernetes.io/hostname': facts.nodeName,
  ...facts.nodeOs.labels,
});

export function initialNode(facts: NodeFacts): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: facts.nodeName,
      labels: nodeLabels(facts),
      annotations: {
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
        ...facts.nodeOs.annotations,
      },
    },
    spec: { ...(facts.nodeOs.taints.length > 0 ? { taints: [...facts.nodeOs.taints] } : {}) },
  };
}

type Draft = Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>;

function pressure(
  type: string,
  pressed: boolean,
  texts: { readonly yes: string; readonly no: string; readonly what: string },
): Draft {
  return pressed
    ? { type, status: 'True', reason: texts.yes, message: `kubelet has ${texts.what}` }
    : {
        type,
        status: 'False',
        reason: texts.no,
        message: `kubelet has ${texts.what.replace(/^insufficient/, 'sufficient').replace('disk pressure', 'no disk pressure')}`,
      };
}

function drafts(facts: NodeFacts, health: NodeHealth): Draft[] {
  const lowMemory = health.pressures.includes('MemoryPressure');
  const lowDisk = health.pressures.includes('DiskPressure');
  const lowPids = facts.nodeOs.hasPidPressure && health.usage.pids > facts.machine.maxPids * 0.98;
  const ready: Draft =
    health.problems.length === 0
      ? { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' }
      : {
          type: 'Ready',
          status: 'False',
          reason: 'KubeletNotReady',
          message: `[${health.problems.join(', ')}]`.replace(/^\[([^,]*)\]$/, '$1'),
        };
  return [
    pressure('MemoryPressure', lowMemory, {
      yes: 'KubeletHasInsufficientMemory',
      no: 'KubeletHasSufficientMemory',
      what: lowMemory ? 'insufficient memory available' : 'sufficient memory available',
    }),
    pressure('DiskPressure', lowDisk, {
      yes: 'KubeletHasDiskPressure',
      no: 'KubeletHasNoDiskPressure',
      what: 'disk pressure',
    }),
    pressure('PIDPressure', lowPids, {
      yes: 'KubeletHasInsufficientPID',
      no: 'KubeletHasSufficientPID',
      what: lowPids ? 'insufficient PID available' : 'sufficient PID available',
    }),
    ready,
  ];
}

export function nodeStatus(
  facts: NodeFacts,
  health: NodeHealth,
  current: NodeStatus | undefined,
): NodeStatus {
  const { nodeInfo } = facts.nodeOs;
  return {
    addresses: [
      ...facts.nodeIPs.map((address) => ({ type: 'InternalIP', address })),
      { type: 'Hostname', address: facts.nodeName },
    ],
    capacity: capacityOf(facts),
    allocatable: allocatableOf(facts),
    conditions: drafts(facts, health).map((draft) => {
      const old = current?.conditions?.find((c) => c.type === draft.type);
      return {
        ...draft,
        lastHeartbeatTime: health.now,
        lastTransitionTime:
          old?.status === draft.status ? (old.lastTransitionTime ?? health.now) : health.now,
      };
    }),
    daemonEndpoints: { kubeletEndpoint: { Port: facts.kubeletPort } },
    nodeInfo: {
      machineID: facts.machine.machineId,
      systemUUID: facts.machine.systemUuid,
      bootID: facts.machine.bootId,
      kernelVersion: nodeInfo.kernelVersion,
      osImage: nodeInfo.osImage,
      containerRuntimeVersion: facts.containerRuntimeVersion,
      kubeletVersion: facts.kubeletVersion,
      kubeProxyVersion: '',
      operatingSystem: nodeInfo.operatingSystem,
      architecture: nodeInfo.architecture,
    },
    images: [...health.images],
  };
}

/** What makes an update worth sending before its time: everything but the heartbeats. */
export const comparable = (status: NodeStatus): string =>
  JSON.stringify({
    ...status,
    conditions: status.conditions?.map(({ lastHeartbeatTime: _, ...rest }) => rest),
  });
