// The CNI plugin itself: ADD, DEL, CHECK, GC, STATUS and VERSION on the ports of the machine.
import { formatIpv4Cidr, ipv4CidrContains, parseIpv4, parseIpv4Cidr } from '../../base/ipv4.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { LinkInfo, Links } from '../../os/links.ts';
import { type PacketFilter, PacketFilterError } from '../../os/packet-filter.ts';
import { podInterfaceName, podIPOfInterface } from '../interface-name.ts';
import { type Attachment, type AttachmentStore, attachmentKey } from './attachments.ts';
import { CniError } from './cni-error.ts';
import { type CniRequest, supportedVersions } from './cni-request.ts';
import { cniResultJson } from './cni-result.ts';
import { createHostLocalIpam } from './ipam-host-local.ts';
import { keepCables } from './keep-cables.ts';
import {
  nodeSideChanges,
  type PodCable,
  podMac,
  podSideChanges,
  reservedAddresses,
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
function cableIn(
  podCIDR: ReturnType<typeof parseIpv4Cidr>,
  attachment: Attachment,
  options: CniPluginOptions,
): PodCable {
  const own = parseIpv4(attachment.podIP)!;
  const cidr =
    podCIDR !== undefined && ipv4CidrContains(podCIDR, own)
      ? podCIDR
      : parseIpv4Cidr(`${attachment.podIP}/24`)!;
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

export function createCniPlugin(ports: CniPluginPorts, options: CniPluginOptions): CniPlugin {
  const known = new Map<string, Attachment>();
  const ipam = createHostLocalIpam({ reserved: reservedAddresses(options.shape) });
  /** Their rules are gone, or about to go, and they not yet. */
  const leaving = new Set<Attachment>();
  let podCIDR: ReturnType<typeof parseIpv4Cidr>;
  const { inTurn, isBusy } = turnsByKey();

  const cableOf = (attachment: Attachment): PodCable => cableIn(podCIDR, attachment, options);

  const guarded = (attachment: Attachment): Parameters<typeof renderGuardPod>[0] => ({
    ...attachment,
    mac: podMac(attachment.podIP, options.shape),
  });

  /** Of rules that may be gone already, with their table. */
  async function removeRules(rules: string, what: string): Promise<void> {
    if (rules === '') return;
    await ports.packetFilter.apply(rules).catch((error: unknown) => {
      if (!(error instanceof PacketFilterError)) throw error; // it said nothing: they may be there
      ports.log.warn({ error }, `${what} were gone already`);
    });
  }

  async function release(attachment: Attachment): Promise<void> {
    leaving.add(attachment);
    await removeRules(renderDeletePortMappings(attachment), 'host ports');
    await removeRules(renderUnguardPod(guarded(attachment)), "rules against a pod's false addresses");
    await ports.links.apply([{ do: 'deleteLink', name: attachment.hostInterface }], asFarAsThere);
    await ports.store.remove(attachment);
    known.delete(attachmentKey(attachment));
    leaving.delete(attachment);
    ipam.release(attachment.podIP);
  }

  function reserve(request: CniRequest): Attachment {
    const podIP = ipam.allocate();
    if (podIP === undefined)
      throw new CniError(
        'tryAgainLater',
        `no IP addresses available in range set: ${formatIpv4Cidr(podCIDR!)}`,
      );
    return {
      containerID: request.containerID,
      ifname: request.ifname,
      network: request.network,
      netns: request.netns,
      podIP,
      hostInterface: podInterfaceName(podIP),
      portMappings: request.portMappings,
    };
  }

  async function plug(attachment: Attachment, inside: Links): Promise<void> {
    const cable = cableOf(attachment);
    await ports.store.put(attachment);
    const rules = renderGuardPod(guarded(attachment)) + renderAddPortMappings(attachment);
    await ports.packetFilter.apply(rules);
    await ports.links.apply(nodeSideChanges(cable));
    await inside.apply(podSideChanges(cable));
  }

  async function namespaceOf(request: CniRequest): Promise<Links> {
    const inside = await ports.linksInside(request.netns);
    if (inside !== undefined) return inside;
    throw new CniError('unknownContainer', `failed to open netns ${JSON.stringify(request.netns)}`);
  }

  async function add(request: CniRequest): Promise<string> {
    const inside = await namespaceOf(request);
    if (request.plugin === 'loopback') {
      await inside.apply([{ do: 'setLink', name: 'lo', up: true }]);
      const lo = { name: 'lo', mac: '00:00:00:00:00:00', sandbox: request.netns };
      return cniResultJson(
        { interfaces: [lo], ips: [{ index: 0, address: '127.0.0.1/8' }], routes: [] },
        request.version,
      );
    }
    if (podCIDR === undefined) throw new CniError('tryAgainLater', 'the node has no podCIDR assigned yet');
    // an ADD that was never answered (the agent died) is repeated: start from nothing
    const former = known.get(attachmentKey(request));
    if (former !== undefined) await release(former);
    const attachment = reserve(request);
    known.set(attachmentKey(attachment), attachment);
    try {
      await plug(attachment, inside);
    } catch (cause) {
      await release(attachment).catch((error: unknown) =>
        ports.log.error(
          { error, podIP: attachment.podIP },
          'a pod network that failed could not be taken back',
        ),
      );
      throw new CniError('ioFailure', `failed to set up pod network: ${(cause as Error).message}`, '', {
        cause,
      });
    }
    return cniResultJson(resultOf(cableOf(attachment)), request.version);
  }

  async function del(request: CniRequest): Promise<string> {
    const attachment = known.get(attachmentKey(request));
    if (request.plugin !== 'loopback' && attachment !== undefined) await release(attachment);
    return '';
  }

  async function check(request: CniRequest): Promise<string> {
    const inside = await namespaceOf(request);
    const found = await inside.links();
    if (request.plugin === 'loopback') {
      if (found.find((link) => link.name === 'lo')?.up === true) return '';
      throw new CniError('ioFailure', 'loopback interface is down');
    }
    const attachment = known.get(attachmentKey(request));
    if (attachment === undefined)
      throw new CniError(
        'unknownContainer',
        `container ${request.containerID} has no ${request.ifname} here`,
      );
    const [ip] = resultOf(cableOf(attachment)).ips;
    if (!found.some((link) => link.name === request.ifname && link.addresses.includes(ip!.address)))
      throw new CniError('ioFailure', `Expected IP ${ip!.address} not found on interface ${request.ifname}`);
    if (
      !(await ports.links.routes()).some(
        (r) => r.to === attachment.podIP && r.dev === attachment.hostInterface,
      )
    )
      throw new CniError('ioFailure', `the node has no route to ${attachment.podIP}`);
    return '';
  }

  async function collectGarbage(request: CniRequest): Promise<string> {
    const valid = new Set(request.validAttachments.map(attachmentKey));
    for (const attachment of [...known.values()])
      if (attachment.network === request.network && !valid.has(attachmentKey(attachment)))
        await inTurn(attachmentKey(attachment), () => release(attachment));
    return '';
  }

  async function handle(request: CniRequest): Promise<string> {
    switch (request.command) {
      case 'VERSION':
        return JSON.stringify({ cniVersion: '1.1.0', supportedVersions });
      case 'STATUS':
        if (podCIDR === undefined)
          throw new CniError('pluginNotAvailable', 'the node has no podCIDR assigned yet');
        return '';
      case 'GC':
        return collectGarbage(request);
      default: {
        const work = { ADD: add, DEL: del, CHECK: check }[request.command];
        return inTurn(attachmentKey(request), () => work(request));
      }
    }
  }

  async function writeTables(): Promise<void> {
    const staying = [...known.values()].filter((attachment) => !leaving.has(attachment));
    await Promise.all([
      ports.packetFilter.apply(renderHostPortTable(staying)),
      ports.packetFilter.apply(renderPodGuard(staying.map(guarded))),
    ]);
  }

  async function start(): Promise<void> {
    const { attachments, broken } = await ports.store.load();
    if (broken.length > 0) ports.log.warn({ broken }, 'unreadable records of pod networks were removed');
    for (const attachment of attachments) {
      if (ipam.claim(attachment.podIP)) known.set(attachmentKey(attachment), attachment);
      else await ports.store.remove(attachment);
    }
    const owned = new Set([...known.values()].map((attachment) => attachment.hostInterface));
    const orphans = (await ports.links.links()).filter(
      (link) => podIPOfInterface(link.name) !== undefined && !owned.has(link.name),
    );
    await ports.links.apply(
      orphans.map((link) => ({ do: 'deleteLink', name: link.name })),
      asFarAsThere,
    );
    await writeTables();
  }

  async function detach(containerIDs: ReadonlySet<string>): Promise<void> {
    for (const attachment of [...known.values()])
      if (containerIDs.has(attachment.containerID))
        await inTurn(attachmentKey(attachment), () => release(attachment));
  }

  return {
    start,
    handle,
    detach,
    setPodCIDR: (text) => {
      const cidr = parseIpv4Cidr(text);
      if (cidr === undefined) throw new Error(`podCIDR ${JSON.stringify(text)} is not an IPv4 prefix`);
      podCIDR = cidr;
      ipam.use(cidr);
    },
    attachments: () => [...known.values()],
    keepCables: async (found) => {
      if (podCIDR) await keepCables(found, { ports, known, leaving, isBusy, inTurn, cableOf });
    },
    writeTables,
  };
}
