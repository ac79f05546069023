// Endpoint slices: the least change.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, Service } from '../../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { countReads } from '../../base/testing/counted-reads.ts';
import { desiredSubsets } from './desired-endpoints.ts';
import { desiredSlices } from './desired-slices.ts';

const service = (spec: object = {}): Service =>
  ({
    metadata: { name: 'web', namespace: 'n', uid: 'svc' },
    spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }], ...spec },
  }) as unknown as Service;
interface PodFacts {
  readonly ready?: boolean;
  readonly terminating?: boolean;
  readonly ip?: string;
  readonly port?: number;
  readonly phase?: string;
  readonly subdomain?: string;
}
const pod = (n: number, facts: PodFacts = {}): Pod =>
  ({
    metadata: {
      name: `p${n}`,
      namespace: 'n',
      uid: `u${n}`,
      ...(facts.terminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      nodeName: 'node',
      hostname: 'h',
      subdomain: facts.subdomain,
      containers: [{ name: 'c', ports: [{ name: 'http', containerPort: facts.port ?? 8080 }] }],
    },
    status: {
      phase: facts.phase ?? 'Running',
      podIP: facts.ip ?? `10.0.${n >> 8}.${n & 255}`,
      conditions: [{ type: 'Ready', status: facts.ready === false ? 'False' : 'True' }],
    },
  }) as unknown as Pod;
const pods = (count: number): Pod[] => Array.from({ length: count }, (_, i) => pod(i + 1));
const zone = (): string => 'z1';
const stored = (slices: readonly EndpointSlice[]): EndpointSlice[] =>
  slices.map((slice, i) => ({
    ...slice,
    metadata: { ...slice.metadata, name: `web-${i}`, resourceVersion: '1' },
  }));
const sizes = (slices: readonly EndpointSlice[]): number[] =>
  slices.map((slice) => (slice.endpoints ?? []).length);

describe('desiredSlices', () => {
  it('puts at most 100 endpoints in a slice', () => {
    const { create, update, remove } = desiredSlices(service(), pods(250), [], zone);
    assert.deepEqual([sizes(create), update, remove], [[100, 100, 50], [], []]);
  });

  it('leaves out a pod that has only its node’s loopback address: a slice with it would be refused', () => {
    const { create } = desiredSlices(service(), [pod(1), pod(2, { ip: '127.0.0.1' })], [], zone);
    assert.deepEqual(
      create.flatMap((slice) => slice.endpoints ?? []).map(({ addresses }) => addresses),
      [['10.0.0.1']],
    );
  });

  it('hints ready endpoints to their zone or node where the Service asks for that, and no others', () => {
    const hints = (trafficDistribution?: string, zoneOf: () => string | undefined = zone) =>
      desiredSlices(service({ trafficDistribution }), [pod(1), pod(2, { ready: false })], [], zoneOf)
        .create.flatMap((slice) => slice.endpoints ?? [])
        .map((endpoint) => endpoint.hints);
    const [forZones, forNodes] = [[{ name: 'z1' }], [{ name: 'node' }]];
    assert.deepEqual(hints(), [undefined, undefined]);
    for (const near of ['PreferClose', 'PreferSameZone'])
      assert.deepEqual(hints(near), [{ forZones }, undefined]);
    assert.deepEqual(hints('PreferSameNode'), [{ forZones, forNodes }, undefined]);
    assert.deepEqual(
      hints('PreferClose', () => undefined),
      [undefined, undefined],
    );
    assert.deepEqual(
      hints('PreferSameNode', () => undefined),
      [{ forNodes }, undefined],
    );
  });

  it('changes nothing when nothing changed', () => {
    const existing = stored(desiredSlices(service(), pods(150), [], zone).create);
    assert.deepEqual(desiredSlices(service(), pods(150), existing, zone), {
      create: [],
      update: [],
      remove: [],
    });
  });

  it('writes one slice when one pod changes, and fills that one first', () => {
    const existing = stored(desiredSlices(service(), pods(150), [], zone).create);
    const changed = [...pods(150).slice(1), pod(200)];
    const { create, update, remove } = desiredSlices(service(), changed, existing, zone);
    assert.deepEqual([create, remove], [[], []]);
    assert.deepEqual(
      update.map((slice) => slice.metadata.name),
      ['web-0'],
    );
    assert.deepEqual(sizes(update), [100]);
  });

  it('keeps one empty slice for a service without pods', () => {
    const none = desiredSlices(service(), [], [], zone);
    assert.deepEqual(sizes(none.create), [0]);
    const existing = stored(desiredSlices(service(), pods(150), [], zone).create);
    const { create, update, remove } = desiredSlices(service(), [], existing, zone);
    assert.deepEqual([create, sizes(update), remove.length], [[], [0], 1]);
    assert.deepEqual(desiredSlices(service(), [], stored(none.create), zone).update, []);
  });

  it('tells ready, serving and terminating apart', () => {
    const given = [
      pod(1),
      pod(2, { ready: false }),
      pod(3, { terminating: true }),
      pod(4, { phase: 'Failed' }),
    ];
    const conditions = (s: Service): unknown[] | undefined =>
      desiredSlices(s, given, [], zone).create[0]!.endpoints?.map((e) =>
        Object.values(e.conditions ?? {}).join(),
      );
    assert.deepEqual(conditions(service()), ['true,true,false', 'false,false,false', 'false,true,true']);
    assert.deepEqual(conditions(service({ publishNotReadyAddresses: true })), [
      'true,true,false',
      'true,false,false',
      'true,true,true',
    ]);
  });

  it('groups pods whose named port has different numbers', () => {
    const { create } = desiredSlices(service(), [pod(1), pod(2, { port: 9090 })], [], zone);
    assert.deepEqual(
      create.map((slice) => slice.ports?.[0]?.port),
      [8080, 9090],
    );
  });

  it('makes slices of both families and gives pods of the service their host name', () => {
    const both = service({ ipFamilies: ['IPv4', 'IPv6'], clusterIP: 'None' });
    const dual = pod(1, { subdomain: 'web' });
    dual.status!.podIPs = [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }];
    const { create } = desiredSlices(both, [dual], [], zone);
    assert.deepEqual(
      create.map((slice) => [
        slice.addressType,
        slice.endpoints?.[0]?.addresses,
        slice.endpoints?.[0]?.hostname,
      ]),
      [
        ['IPv4', ['10.0.0.1'], 'h'],
        ['IPv6', ['fd00::1'], 'h'],
      ],
    );
    assert.equal(create[0]!.metadata.labels?.['service.kubernetes.io/headless'], '');
  });
});

describe('thousands of ports', () => {
  const named = Array.from({ length: 2000 }, (_, i) => ({ name: `p${i}`, port: i + 1, targetPort: `t${i}` }));
  const podOf = (n: number, of: <T extends object>(object: T) => T, first: number): Pod => {
    const ports = named.map(({ targetPort }, i) => of({ name: targetPort, containerPort: first + i }));
    const one = pod(n);
    return { ...one, spec: { ...one.spec, containers: [{ name: 'c', ports }] } } as Pod;
  };

  it('are looked up in each pod, and read once for pods that name theirs alike', () => {
    const ofPods = countReads(20 * 8 * 2000);
    const ofService = countReads(40 * 2000);
    const many = Array.from({ length: 20 }, (_, n) => podOf(n, ofPods.of, 3000));
    const wide = service({ ports: named.map((port) => ofService.of(port)) });
    const { create } = desiredSlices(wide, many, [], zone);
    assert.deepEqual(
      [sizes(create), create[0]?.ports?.length, create[0]?.ports?.[9]?.port],
      [[20], 2000, 3009],
    );
    assert.equal(desiredSubsets(wide, many).subsets[0]?.ports?.length, 2000);
  });

  it('of slices are not read again for each group of pods', () => {
    const many = Array.from({ length: 20 }, (_, n) => podOf(n, (port) => port, 3000 + n));
    const wide = service({ ports: named });
    const { of } = countReads(20 * 10 * 2000);
    const existing = stored(desiredSlices(wide, many, [], zone).create).map((slice) => ({
      ...slice,
      ports: slice.ports!.map((port) => of(port)),
    }));
    assert.equal(existing.length, 20);
    assert.deepEqual(desiredSlices(wide, many, existing, zone), { create: [], update: [], remove: [] });
  });
});

describe('desiredSubsets', () => {
  it('packs addresses that share ports, ready and not', () => {
    const { subsets } = desiredSubsets(service(), [
      pod(2),
      pod(1),
      pod(3, { ready: false }),
      pod(4, { terminating: true }),
    ]);
    assert.deepEqual(
      subsets.map((s) => [s.addresses?.map((a) => a.ip), s.notReadyAddresses?.map((a) => a.ip), s.ports]),
      [[['10.0.0.1', '10.0.0.2'], ['10.0.0.3'], [{ name: 'http', port: 8080, protocol: 'TCP' }]]],
    );
  });
  it('cuts at 1000 addresses and says so', () => {
    const { subsets, truncated } = desiredSubsets(service(), pods(1001));
    assert.deepEqual([subsets[0]?.addresses?.length, truncated], [1000, true]);
  });
});
