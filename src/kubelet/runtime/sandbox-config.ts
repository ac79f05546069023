// The sandbox of a pod as the runtime wants it. Pure.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { PodSandboxConfig, PortMapping } from '../../rpc-api/generated/cri-v1.ts';
import type { NodeOs } from '../node-os/node-os.ts';
import * as names from '../pod-format.ts';
import { type ClusterDns, podDns } from './dns-config.ts';
import { podHostname } from './hosts-file.ts';

export interface SandboxInput {
  readonly pod: Pod;
  readonly attempt: number;
  readonly logDirectory: string;
  readonly cgroupParent: string;
  readonly dns: ClusterDns;
  readonly nodeOs: NodeOs;
}

const protocols = { TCP: 'TCP', UDP: 'UDP', SCTP: 'SCTP' } as const;

function portMappings(pod: Pod): PortMapping[] {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(names.isSidecar)].flatMap((c) =>
    (c.ports ?? []).map((port) => ({
      protocol: protocols[(port.protocol ?? 'TCP') as keyof typeof protocols] ?? 'TCP',
      containerPort: port.containerPort,
      hostPort: port.hostPort ?? 0,
      hostIp: port.hostIP ?? '',
    })),
  );
}

/** What a simulated runtime is told: numbers. */
const simulationOf = ({ metadata: { annotations = {} } }: Pod): Record<string, string> =>
  Object.fromEntries(
    [names.annotationSimulatedRunSeconds, names.annotationSimulatedExitCode].flatMap((name) => {
      const value = annotations[name];
      return value !== undefined && /^[\d.]{1,20}$/.test(value) ? [[name, value]] : [];
    }),
  );

export function sandboxConfig(input: SandboxInput): PodSandboxConfig {
  const { pod, nodeOs } = input;
  const onHost = nodeOs.hostNetwork(pod);
  const dns = podDns(pod, input.dns, onHost);
  const settings = nodeOs.sandboxSettings(pod, input.cgroupParent);
  return {
    metadata: {
      name: pod.metadata.name ?? '',
      uid: names.podUid(pod),
      namespace: names.podNamespace(pod),
      attempt: input.attempt,
    },
    // In the node's network the pod has the node's host name, and a runtime refuses to set one.
    ...(onHost ? {} : { hostname: podHostname(pod, input.dns.domain).hostname }),
    logDirectory: input.logDirectory,
    dnsConfig: { servers: dns.servers, searches: dns.searches, options: dns.options },
    portMappings: onHost ? [] : portMappings(pod),
    // Not the pod's own: the runtime lists every pod's in one answer, which a few pods with much of them made too long to
    // be sent, and with it the kubelet blind for all. Neither reads them.
    labels: {
      [names.labelPodName]: pod.metadata.name ?? '',
      [names.labelPodNamespace]: names.podNamespace(pod),
      [names.labelPodUid]: names.podUid(pod),
    },
    ...settings,
    annotations: { ...simulationOf(pod), ...settings.annotations },
  };
}
