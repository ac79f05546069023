// The CNI plugin itself: ADD, DEL, CHECK, GC, STATUS and VERSION on the ports of the machine.
import { type Cidr, cidrContains, cidrOf, formatCidr, parseCidr, parseIp } from '../../base/ip.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { LinkInfo, Links } from '../../os/links.ts';
import { type PacketFilter, PacketFilterError } from '../../os/packet-filter.ts';
import { podInterfaceName, podIPOfInterface } from '../interface-name.ts';
import { type Attachment, type AttachmentStore, attachmentKey } from './attachments.ts';
import { CniError } from './cni-error.ts';
import { type CniRequest, supportedVersions } from './cni-request.ts';
import { cniResultJson } from './cni-result.ts';
import { createHostLocalIpam, type HostLocalIpam } from './ipam-host-local.ts';
import { keepCables } from './keep-cables.ts';
import {
  nodeSideChanges,
  type PodCable,
  podMac,
  podSideChanges,
  reservedBelow,
  resultOf,
} from './pod-cable.ts';
import { podGuardTables, renderGuardPod, renderPodGuard, renderUnguardPod } from './pod-guard.ts';
import {
  hostPortTable,
  renderAddPortMappings,
  renderDeletePortMappings,
  renderHostPortTable,
} from './portmap.ts';

export interface CniPluginPorts {
  readonly links: Links;
  readonly packetFilter: PacketFilter;
  readonly store: AttachmentStore;
  readonly log: Logger;
  /** Links of the namespace at `path`; undefined when there is no such namespace. */
  linksInside(path: string): Promise<Links | undefined>;
}

export interface CniPluginOptions {
  readonly shape: PodCable['shape'];
  /** Default 1500. */
  readonly mtu?: number;
}

/** Written at start, whole from then on. */
export const cniTables: readonly string[] = [hostPortTable, ...podGuardTables];

export interface CniPlugin {
  /** Brings records, kernel and rules of a former run together. */
  start(): Promise<void>;
  /** From the node's spec.podCIDR; ADD answers "try again" before. */
  setPodCIDR(cidr: string): void;
  /** The answer for stdout. Throws CniError. */
  handle(request: CniRequest): Promise<string>;
  /** As DEL, of containers for which nobody will ask it. */
  detach(containerIDs: ReadonlySet<string>): Promise<void>;
  attachments(): readonly Attachment[];
  /** Pods whose cable somebody took away get it back; `found` are the node's links. */
  keepCables(found: readonly LinkInfo[]): Promise<void>;
  /** All of `cniTables` anew. */
  writeTables(): Promise<void>;
}

/** A pod of a former prefix of the node's keeps what it has. */
function cableIn(podCIDR: Cidr | undefined, attachment: Attachment, options: CniPluginOptions): PodCable {
  const own = parseIp(attachment.podIP)!;
  const cidr = podCIDR !== undefined && cidrContains(podCIDR, own) ? podCIDR : cidrOf(own, 24);
  return {
    podIP: attachment.podIP,
    ifname: attachment.ifname,
    netns: attachment.netns,
    mtu: options.mtu ?? 1500,
    shape: options.shape,
    podCIDR: cidr,
  };
}

const asFarAsThere = { keepGoing: 'silently' } as const;

interface TurnsByKey {
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T>;
  isBusy(key: string): boolean;
}

/** Requests for one attachment run one after the other. */
function turnsByKey(): TurnsByKey {
  const busy = new Map<string, Promise<unknown>>();
  return {
    isBusy: (key) => busy.has(key),
    inTurn: (key, work) => {
      const before = busy.get(key) ?? Promise.resolve();
      const done = before.then(work, work);
      busy.set(key, done);
      const forget = (): void => {
        if (busy.get(key) === done) busy.delete(key);
      };
      done.then(forget, forget);
      return done;
    },
  };
}

class NodeCniPlugin implements CniPlugin {
  readonly #ports: CniPluginPorts;
  readonly #options: CniPluginOptions;
  readonly #known = new Map<string, Attachment>();
  readonly #ipam: HostLocalIpam;
  /** Their rules are gone, or about to go, and they not yet. */
  readonly #leaving = new Set<Attachment>();
  readonly #turns = turnsByKey();
  #podCIDR: Cidr | undefined;

  constructor(ports: CniPluginPorts, options: CniPluginOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#ipam = createHostLocalIpam({ reserved: reservedBelow(options.shape) });
  }

  async start(): Promise<void> {
    const { links, log, store } = this.#ports;
    const { attachments, broken } = await store.load();
    if (broken.length > 0) log.warn({ broken }, 'unreadable records of pod networks were removed');
    for (const attachment of attachments) {
      if (this.#ipam.claim(attachment.podIP)) this.#known.set(attachmentKey(attachment), attachment);
      else await store.remove(attachment);
    }
    const owned = new Set(this.attachments().map((attachment) => attachment.hostInterface));
    const orphans = (await links.links()).filter(
      (link) => podIPOfInterface(link.name) !== undefined && !owned.has(link.name),
    );
    await links.apply(
      orphans.map((link) => ({ do: 'deleteLink', name: link.name })),
      asFarAsThere,
    );
    await this.writeTables();
  }

  setPodCIDR(text: string): void {
    const cidr = parseCidr(text);
    if (cidr?.family !== 4) throw new Error(`podCIDR ${JSON.stringify(text)} is not an IPv4 prefix`);
    this.#podCIDR = cidr;
    this.#ipam.use(cidr);
  }

  attachments(): readonly Attachment[] {
    return [...this.#known.values()];
  }

  async handle(request: CniRequest): Promise<string> {
    switch (request.command) {
      case 'VERSION':
        return JSON.stringify({ cniVersion: '1.1.0', supportedVersions });
      case 'STATUS':
        if (this.#podCIDR === undefined)
          throw new CniError('pluginNotAvailable', 'the node has no podCIDR assigned yet');
        return '';
      case 'GC':
        return this.#collectGarbage(request);
      default:
        return this.#turns.inTurn(attachmentKey(request), () => this.#inTurn(request));
    }
  }

  async detach(containerIDs: ReadonlySet<string>): Promise<void> {
    await this.#releaseAll(({ containerID }) => containerIDs.has(containerID));
  }

  async keepCables(found: readonly LinkInfo[]): Promise<void> {
    if (this.#podCIDR === undefined) return;
    await keepCables(found, {
      ports: this.#ports,
      known: this.#known,
      leaving: this.#leaving,
      ...this.#turns,
      cableOf: (attachment) => this.#cableOf(attachment),
    });
  }

  async writeTables(): Promise<void> {
    const staying = this.attachments().filter((attachment) => !this.#leaving.has(attachment));
    const { packetFilter } = this.#ports;
    await Promise.all([
      packetFilter.apply(renderHostPortTable(staying)),
      packetFilter.apply(renderPodGuard(staying.map((attachment) => this.#guarded(attachment)))),
    ]);
  }

  #inTurn(request: CniRequest): Promise<string> {
    switch (request.command) {
      case 'ADD':
        return request.plugin === 'loopback' ? this.#addLoopback(request) : this.#add(request);
      case 'CHECK':
        return this.#check(request);
      default:
        return this.#delete(request);
    }
  }

  async #addLoopback(request: CniRequest): Promise<string> {
    const inside = await this.#namespaceOf(request);
    await inside.apply([{ do: 'setLink', name: 'lo', up: true }]);
    const lo = { name: 'lo', mac: '00:00:00:00:00:00', sandbox: request.netns };
    return cniResultJson(
      { interfaces: [lo], ips: [{ index: 0, address: '127.0.0.1/8' }], routes: [] },
      request.version,
    );
  }

  async #add(request: CniRequest): Promise<string> {
    const inside = await this.#namespaceOf(request);
    if (this.#podCIDR === undefined)
      throw new CniError('tryAgainLater', 'the node has no podCIDR assigned yet');
    // an ADD that was never answered (the agent died) is repeated: start from nothing
    const former = this.#known.get(attachmentKey(request));
    if (former !== undefined) await this.#release(former);
    const attachment = this.#reserve(request, this.#podCIDR);
    this.#known.set(attachmentKey(attachment), attachment);
    try {
      await this.#plug(attachment, inside);
    } catch (cause) {
      await this.#release(attachment).catch((error: unknown) =>
        this.#ports.log.error(
          { error, podIP: attachment.podIP },
          'a pod network that failed could not be taken back',
        ),
      );
      const text = `failed to set up pod network: ${(cause as Error).message}`;
      throw new CniError('ioFailure', text, '', { cause });
    }
    return cniResultJson(resultOf(this.#cableOf(attachment)), request.version);
  }

  async #delete(request: CniRequest): Promise<string> {
    const attachment = this.#known.get(attachmentKey(request));
    if (request.plugin !== 'loopback' && attachment !== undefined) await this.#release(attachment);
    return '';
  }

  async #check(request: CniRequest): Promise<string> {
    const found = await (await this.#namespaceOf(request)).links();
    if (request.plugin === 'loopback') {
      if (found.find((link) => link.name === 'lo')?.up === true) return '';
      throw new CniError('ioFailure', 'loopback interface is down');
    }
    const attachment = this.#known.get(attachmentKey(request));
    if (attachment === undefined)
      throw new CniError(
        'unknownContainer',
        `container ${request.containerID} has no ${request.ifname} here`,
      );
    const [ip] = resultOf(this.#cableOf(attachment)).ips;
    if (!found.some((link) => link.name === request.ifname && link.addresses.includes(ip!.address)))
      throw new CniError('ioFailure', `Expected IP ${ip!.address} not found on interface ${request.ifname}`);
    const { hostInterface, podIP } = attachment;
    const routes = await this.#ports.links.routes();
    if (!routes.some(({ to, dev }) => to === podIP && dev === hostInterface))
      throw new CniError('ioFailure', `the node has no route to ${podIP}`);
    return '';
  }

  async #collectGarbage(request: CniRequest): Promise<string> {
    const valid = new Set(request.validAttachments.map(attachmentKey));
    await this.#releaseAll((one) => one.network === request.network && !valid.has(attachmentKey(one)));
    return '';
  }

  async #namespaceOf(request: CniRequest): Promise<Links> {
    const inside = await this.#ports.linksInside(request.netns);
    if (inside !== undefined) return inside;
    throw new CniError('unknownContainer', `failed to open netns ${JSON.stringify(request.netns)}`);
  }

  #reserve(request: CniRequest, podCIDR: Cidr): Attachment {
    const podIP = this.#ipam.allocate();
    if (podIP === undefined) {
      const text = `no IP addresses available in range set: ${formatCidr(podCIDR)}`;
      throw new CniError('tryAgainLater', text);
    }
    const { containerID, ifname, netns, network, portMappings } = request;
    const hostInterface = podInterfaceName(podIP);
    return { containerID, ifname, network, netns, podIP, hostInterface, portMappings };
  }

  async #plug(attachment: Attachment, inside: Links): Promise<void> {
    const cable = this.#cableOf(attachment);
    await this.#ports.store.put(attachment);
    const rules = renderGuardPod(this.#guarded(attachment)) + renderAddPortMappings(attachment);
    await this.#ports.packetFilter.apply(rules);
    await this.#ports.links.apply(nodeSideChanges(cable));
    await inside.apply(podSideChanges(cable));
  }

  async #release(attachment: Attachment): Promise<void> {
    this.#leaving.add(attachment);
    await this.#removeRules(renderDeletePortMappings(attachment), 'host ports');
    await this.#removeRules(
      renderUnguardPod(this.#guarded(attachment)),
      "rules against a pod's false addresses",
    );
    const gone = { do: 'deleteLink', name: attachment.hostInterface } as const;
    await this.#ports.links.apply([gone], asFarAsThere);
    await this.#ports.store.remove(attachment);
    this.#known.delete(attachmentKey(attachment));
    this.#leaving.delete(attachment);
    this.#ipam.release(attachment.podIP);
  }

  async #releaseAll(which: (attachment: Attachment) => boolean): Promise<void> {
    for (const attachment of this.attachments())
      if (which(attachment))
        await this.#turns.inTurn(attachmentKey(attachment), () => this.#release(attachment));
  }

  /** Of rules that may be gone already, with their table. */
  async #removeRules(rules: string, what: string): Promise<void> {
    if (rules === '') return;
    await this.#ports.packetFilter.apply(rules).catch((error: unknown) => {
      if (!(error instanceof PacketFilterError)) throw error; // it said nothing: they may be there
      this.#ports.log.warn({ error }, `${what} were gone already`);
    });
  }

  #cableOf(attachment: Attachment): PodCable {
    return cableIn(this.#podCIDR, attachment, this.#options);
  }

  #guarded(attachment: Attachment): Parameters<typeof renderGuardPod>[0] {
    return { ...attachment, mac: podMac(attachment.podIP, this.#options.shape) };
  }
}

export function createCniPlugin(ports: CniPluginPorts, options: CniPluginOptions): CniPlugin {
  return new NodeCniPlugin(ports, options);
}
