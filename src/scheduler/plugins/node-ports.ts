// NodePorts: two pods of one node can't have the same host port.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { type HostPort, hostPortsOf, UsedHostPorts } from '../../component-helpers/host-ports.ts';
import { stateKey } from '../framework/cycle-state.ts';
import type { Plugin } from '../framework/plugin.ts';
import { skip, unschedulable } from '../framework/status.ts';

const key = stateKey<readonly HostPort[]>('NodePorts');

export const nodePorts: Plugin = {
  name: 'NodePorts',
  requeueOn: [
    'NodeAdd',
    {
      on: ['AssignedPodDelete'],
      helps: (pod, { oldPod }) => {
        if (oldPod === undefined) return true;
        const freed = new UsedHostPorts();
        freed.add(hostPortsOf(oldPod));
        return hostPortsOf(pod).some((port) => freed.has(port));
      },
    },
  ],
  preFilter: (state, pod: Pod) => {
    const ports = hostPortsOf(pod);
    if (ports.length === 0) return { status: skip };
    state.write(key, ports);
    return undefined;
  },
  filter: (state, _pod, node) => {
    const wanted = state.read(key) ?? [];
    return wanted.some((port) => node.usedPorts.has(port))
      ? unschedulable("node(s) didn't have free ports for the requested pod ports")
      : undefined;
  },
};
