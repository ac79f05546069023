// The cable between node and pod as changes of links: pure. Pods are routed: no bridge, no ARP between pods.
import { type Cidr, formatCidr, formatIp, ipAt } from '../../base/ip.ts';
import type { LinkChange } from '../../os/links.ts';
import { hardwareAddressOf } from '../hardware-address.ts';
import { podInterfaceName } from '../interface-name.ts';
import { portholeRouteProtocol } from '../network-plan.ts';
import type { CniResult } from './cni-result.ts';

export interface PodCable {
  readonly podIP: string;
  readonly ifname: string;
  readonly netns: string;
  readonly mtu: number;
  /** A Windows node's pod sees what HNS gives it in an L2Bridge network: the subnet's mask, .2 as its gateway. */
  readonly shape: 'routed' | 'l2bridge';
  readonly podCIDR: Cidr;
}

/** Every pod's gateway has this hardware address, whatever its node end is. */
const gatewayMac = 'ee:ee:ee:ee:ee:ee';
const linkLocalGateway = '169.254.1.1';

export function podMac(podIP: string, shape: PodCable['shape']): string {
  const usual = hardwareAddressOf(podIP);
  // 00-15-5D is Hyper-V's range, from which HNS takes the addresses of endpoints
  return shape === 'l2bridge' ? usual.replace(/^(..:){3}/, '00:15:5d:') : usual;
}

/** win-bridge and flannel: the second address of the subnet belongs to the host's endpoint, the pods' next hop. */
export const l2bridgeGateway = (cidr: Cidr): string => formatIp(ipAt(cidr, 2)!);

const gatewayOf = (cable: PodCable): string =>
  cable.shape === 'l2bridge' ? l2bridgeGateway(cable.podCIDR) : linkLocalGateway;

const addressOf = (cable: PodCable): string =>
  cable.shape === 'l2bridge' ? `${cable.podIP}/${cable.podCIDR.bits}` : `${cable.podIP}/32`;

export function nodeSideChanges(cable: PodCable): LinkChange[] {
  const name = podInterfaceName(cable.podIP);
  const mac = podMac(cable.podIP, cable.shape);
  return [
    {
      do: 'addVeth',
      name,
      mac: gatewayMac,
      mtu: cable.mtu,
      peer: { name: cable.ifname, netns: cable.netns, mac, mtu: cable.mtu },
    },
    { do: 'setLink', name, up: true },
    { do: 'replaceRoute', to: cable.podIP, dev: name, scope: 'link', protocol: portholeRouteProtocol },
  ];
}

export function podSideChanges(cable: PodCable): LinkChange[] {
  const gateway = gatewayOf(cable);
  const dev = cable.ifname;
  const subnet: LinkChange[] =
    cable.shape === 'l2bridge'
      ? [
          {
            do: 'replaceRoute',
            to: formatCidr(cable.podCIDR),
            via: gateway,
            dev,
          },
        ]
      : [];
  return [
    { do: 'setLink', name: 'lo', up: true },
    { do: 'setLink', name: dev, up: true },
    { do: 'replaceAddress', name: dev, address: addressOf(cable), noPrefixRoute: true },
    { do: 'replaceRoute', to: gateway, dev, scope: 'link' },
    { do: 'replaceNeighbour', address: gateway, mac: gatewayMac, dev },
    { do: 'replaceRoute', to: 'default', via: gateway, dev },
    ...subnet,
  ];
}

export function resultOf(cable: PodCable): CniResult {
  return {
    interfaces: [
      { name: podInterfaceName(cable.podIP), mac: gatewayMac },
      { name: cable.ifname, mac: podMac(cable.podIP, cable.shape), sandbox: cable.netns },
    ],
    ips: [{ index: 1, address: addressOf(cable), gateway: gatewayOf(cable) }],
    routes: [{ dst: '0.0.0.0/0' }],
  };
}

/** How many of a CIDR's first addresses are not for pods. */
export const reservedBelow = (shape: PodCable['shape']): number => (shape === 'l2bridge' ? 3 : 2);
