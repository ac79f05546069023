// What one machine's pod network should be, as data: what a topology plans and what plan-apply realises.

/** `ip route … proto N` marks routes as ours. Not one of the numbers in iproute2's rt_protos. */
export const portholeRouteProtocol = 80;

export interface PlannedRoute {
  /** A pod CIDR. */
  readonly to: string;
  /** The node that has the pods; undefined on that node itself: what is no pod's there is refused. */
  readonly via: string | undefined;
}

export interface Masquerade {
  /** Traffic from these … */
  readonly sources: readonly string[];
  /** … to anywhere but these leaves with the node's address. */
  readonly exceptions: readonly string[];
}

export interface NetworkPlan {
  readonly routes: readonly PlannedRoute[];
  readonly masquerade: Masquerade | undefined;
  /** Addresses that the machine itself answers on, with the interface that carries them. */
  readonly ownAddresses: readonly { readonly bridge: string; readonly address: string }[];
  /** Why a part of the cluster cannot be reached, in words for the node's log and events. */
  readonly problems: readonly string[];
}
