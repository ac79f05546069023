// Where a node's agent and containerd keep their things, below the node's folder.
import { basename, join } from 'node:path';
import { contentKey } from '../../component-base/content-hash.ts';

export interface NodeLayout {
  readonly root: string;
  readonly kubeconfig: string;
  readonly containerdDir: string;
  readonly containerdRoot: string;
  readonly containerdState: string;
  /** Folder of the sockets below: paths of sockets are short, whatever the node's folder. */
  readonly sockets: string;
  readonly containerdSocket: string;
  readonly cniSocket: string;
  /** Where the agent answers that it lives. */
  readonly agentSocket: string;
  readonly cniDir: string;
  /** What the node's DNS last knew. */
  readonly dnsRecords: string;
  readonly cniBin: string;
  readonly cniConf: string;
  readonly kubelet: string;
  /** Drive C: of an emulated Windows node, as its pods see it by hostPath. */
  readonly hostDrive: string;
  readonly handler: string;
  /** Parent of all cgroups of the node's pods; two clusters of one name in different homes differ. */
  readonly cgroupRoot: string;
}

/** Where the agent of a simulated node writes the port of its kubelet, for whoever looks whether it lives. */
export const kubeletPortFile = (root: string): string => join(root, 'kubelet.port');

export function nodeLayout(root: string): NodeLayout {
  const sockets = join('/run/porthole/nodes', contentKey([root]));
  return {
    root,
    kubeconfig: join(root, 'agent.kubeconfig'),
    containerdDir: join(root, 'containerd'),
    containerdRoot: join(root, 'containerd/root'),
    containerdState: join(root, 'containerd/state'),
    sockets,
    containerdSocket: join(sockets, 'containerd.sock'),
    cniSocket: join(sockets, 'cni.sock'),
    agentSocket: join(sockets, 'agent.sock'),
    cniDir: join(root, 'cni'),
    dnsRecords: join(root, 'dns-records'),
    cniBin: join(root, 'cni/bin'),
    cniConf: join(root, 'cni/conf'),
    kubelet: join(root, 'kubelet'),
    hostDrive: join(root, 'kubelet/windows-host/c'),
    handler: join(root, 'windows'),
    cgroupRoot: `/porthole-${basename(root)}-${contentKey([root])}`,
  };
}
