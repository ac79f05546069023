// Writes link changes as lines of `ip -batch`; refuses whatever is not a plain name, address or number.
import { parseIp, parseIpWithBits } from '../../base/ip.ts';
import { type LinkChange, LinksError, type RouteChange } from '../links.ts';

const namePattern = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$/;
const macPattern = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;
const netnsPattern = /^[A-Za-z0-9_/.:-]{1,255}$/;

function checked(value: string, pattern: RegExp, what: string): string {
  if (!pattern.test(value)) throw new LinksError(`${JSON.stringify(value)} is not a valid ${what}`);
  return value;
}
const dev = (value: string): string => checked(value, namePattern, 'interface name');
function address(value: string): string {
  const ip = parseIp(value) ?? parseIpWithBits(value)?.ip;
  if (ip === undefined || ip.zone !== undefined)
    throw new LinksError(`${JSON.stringify(value)} is not a valid address`);
  return value;
}
const mac = (value: string): string => checked(value, macPattern, 'hardware address');

function number(value: number): string {
  if (!Number.isInteger(value) || value < 0 || value > 0xffffffff)
    throw new LinksError(`${value} is not a valid number`);
  return String(value);
}

function linkOptions(link: { readonly mac?: string; readonly mtu?: number }): string {
  return `${link.mac === undefined ? '' : ` address ${mac(link.mac)}`}${link.mtu === undefined ? '' : ` mtu ${number(link.mtu)}`}`;
}

function route(change: RouteChange): string {
  return [
    change.unreachable ? 'unreachable' : '',
    change.to === 'default' ? 'default' : address(change.to),
    change.via === undefined ? '' : `via ${address(change.via)}`,
    change.dev === undefined ? '' : `dev ${dev(change.dev)}`,
    change.onlink ? 'onlink' : '',
    change.scope === undefined ? '' : `scope ${change.scope}`,
    change.source === undefined ? '' : `src ${address(change.source)}`,
    change.protocol === undefined ? '' : `proto ${number(change.protocol)}`,
  ]
    .filter((word) => word !== '')
    .join(' ');
}

export function renderLinkChange(change: LinkChange): string {
  switch (change.do) {
    case 'addBridge':
      return `link add name ${dev(change.name)}${linkOptions(change)} type bridge`;
    case 'addVeth': {
      const { peer } = change;
      const netns =
        peer.netns === undefined ? '' : ` netns ${checked(peer.netns, netnsPattern, 'namespace')}`;
      return `link add name ${dev(change.name)}${linkOptions(change)} type veth peer name ${dev(peer.name)}${linkOptions(peer)}${netns}`;
    }
    case 'deleteLink':
      return `link delete dev ${dev(change.name)}`;
    case 'setLink': {
      const master = change.master === undefined ? '' : ` master ${dev(change.master)}`;
      const state = change.up === undefined ? '' : change.up ? ' up' : ' down';
      return `link set dev ${dev(change.name)}${linkOptions(change)}${master}${state}`;
    }
    case 'replaceAddress':
      return `address replace ${address(change.address)} dev ${dev(change.name)}${change.scope === undefined ? '' : ` scope ${change.scope}`}${change.noPrefixRoute ? ' noprefixroute' : ''}`;
    case 'deleteAddress':
      return `address delete ${address(change.address)} dev ${dev(change.name)}`;
    case 'replaceRoute':
      return `route replace ${route(change)}`;
    case 'deleteRoute':
      return `route delete ${route(change)}`;
    case 'replaceNeighbour':
      return `neighbour replace ${address(change.address)} lladdr ${mac(change.mac)} dev ${dev(change.dev)} nud permanent`;
  }
}
