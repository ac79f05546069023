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

export function sandboxConfig(input: SandboxInput): PodSandboxConfig {
  const { pod, nodeOs } = input;
  const onHost = nodeOs.hostNetwork(pod);
  const dns = podDns(pod, input.dns, nodeOs.name);
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
    labels: {
      ...pod.metadata.labels,
      [names.labelPodName]: pod.metadata.name ?? '',
      [names.labelPodNamespace]: names.podNamespace(pod),
      [names.labelPodUid]: names.podUid(pod),
    },
    ...settings,
    annotations: { ...pod.metadata.annotations, ...settings.annotations },
  };
}
