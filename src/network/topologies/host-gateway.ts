// host-gateway: each node routes the others' pod CIDRs to their addresses; nodes share a subnet.
import { cidrContains, parseCidr, parseIp } from '../../base/ip.ts';
import { l2bridgeGateway } from '../cni/pod-cable.ts';
import type { NetworkPlan, PlannedRoute } from '../network-plan.ts';
import type { NetworkNode, NetworkView, Topology } from '../topology.ts';

function isConnected(address: string, connected: readonly string[]): boolean {
  const value = parseIp(address);
  return (
    value !== undefined &&
    connected.some((text) => {
      const cidr = parseCidr(text);
      return cidr !== undefined && cidrContains(cidr, value);
    })
  );
}

/** The route to a node's pods, or why there is none; undefined while the node is still being set up. */
function routeTo(node: NetworkNode, view: NetworkView): PlannedRoute | string | undefined {
  if (node.podCIDR === undefined || node.internalIP === undefined) return undefined;
  if (!isConnected(node.internalIP, view.connected))
    return `node ${node.name} at ${node.internalIP} is not in a subnet of this machine: host-gateway needs all nodes on one layer-2 network`;
  return { to: node.podCIDR, via: node.internalIP };
}

/** The address of the host's own endpoint in the L2Bridge network of a Windows node. */
function ownAddresses(self: NetworkNode | undefined): NetworkPlan['ownAddresses'] {
  const cidr = self?.os === 'windows' ? parseCidr(self.podCIDR ?? '') : undefined;
  return cidr === undefined ? [] : [{ bridge: 'cbr0', address: `${l2bridgeGateway(cidr)}/32` }];
}

function plan(view: NetworkView, self: string | undefined): NetworkPlan {
  const own = view.nodes.find((node) => node.name === self);
  const results = view.nodes.filter((node) => node !== own).map((node) => routeTo(node, view));
  const problems = results.filter((result) => typeof result === 'string');
  const routes = results.filter((result) => typeof result === 'object');
  const exceptions = [view.clusterCIDR, view.serviceCIDR, ...view.connected, ...view.masqueradeExceptions];
  return {
    // an address of this node that no pod has must not go out by the default route and come back
    routes: own?.podCIDR === undefined ? routes : [...routes, { to: own.podCIDR, via: undefined }],
    masquerade:
      own?.podCIDR === undefined
        ? undefined
        : { sources: [own.podCIDR], exceptions: [...new Set(exceptions)].sort() },
    ownAddresses: ownAddresses(own),
    problems,
  };
}

export const hostGateway: Topology = {
  name: 'host-gateway',
  facts: {
    encapsulation: 'none',
    mtuOverheadBytes: 0,
    needsSameL2: true,
    needsRouterPeer: false,
    windows: true,
  },
  plan,
};
