// The contract of ProxyBackend as tests: what becomes of packets, whatever realises the rules. Every driver runs them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ProxyBackend, RuleChange } from '../proxy-backend.ts';
import type { Backend, Frontend, ServiceRules } from '../rule-set.ts';

/** `near` is an endpoint, too. */
export type Sender = 'pod' | 'near' | 'node' | 'outside';

/** The endpoint's address, and as whom it saw the sender. */
export interface Reached {
  readonly at: string;
  readonly from: string;
}
export type Reply = Reached | 'refused' | 'nothing';

/** A node with its data plane, and who can send to and through it. */
export interface BackendWorld {
  readonly backend: ProxyBackend;
  /** On this node, and on another: both serve on TCP. */
  readonly near: Backend;
  readonly far: Backend;
  readonly addresses: Readonly<Record<Sender, string>>;
  /** Leads from outside to the node, and is nobody's. */
  readonly external: string;
  ask(from: Sender, to: string, port: number, count?: number): Promise<readonly Reply[]>;
  /** Of a process that comes after the one of `backend`. */
  another(): ProxyBackend;
  /** As somebody else who takes all that was written. */
  lose(): Promise<void>;
  /** What a driver does by the clock to see whether all is there; resolves at once where the clock goes by itself. */
  look(): Promise<void>;
  close(): Promise<void>;
}

const clusterIP = (last: number): string => `10.96.0.${last}`;

function frontend(of: Partial<Frontend>): Frontend {
  return {
    ip: clusterIP(1),
    protocol: 'tcp',
    port: 80,
    source: 'cluster',
    backends: [],
    insideBackends: [],
    without: 'reject',
    affinitySeconds: 0,
    allowedSources: undefined,
    isClusterIP: of.source === undefined,
    portName: `p${of.port ?? 80}/tcp`,
    ...of,
  };
}
const rules = (service: string, ...frontends: readonly Frontend[]): ServiceRules => ({ service, frontends });
const begun = (after: ServiceRules): RuleChange => ({ service: after.service, before: undefined, after });

const endpointsOf = (replies: readonly Reply[]): string[] =>
  [...new Set(replies.map((reply) => (typeof reply === 'string' ? reply : reply.at)))].sort();

export function proxyBackendConformance(name: string, open: () => Promise<BackendWorld>): void {
  let world: BackendWorld;
  before(async () => {
    world = await open();
  });
  after(() => world?.close());
  const withServices = (title: string, run: () => Promise<void>): void => {
    test(`${name} ${title}`, async () => {
      await world.backend.replace([]);
      await run();
    });
  };
  for (const cases of [packetCases, outsideCases, changeCases, lossCases]) cases(withServices, () => world);
}

type Cases = (
  withServices: (title: string, run: () => Promise<void>) => void,
  of: () => BackendWorld,
) => void;

const packetCases: Cases = (withServices, of) => {
  withServices('spreads connections over all endpoints, which see pods by their own address', async () => {
    const { addresses, ask, backend, far, near } = of();
    await backend.change([begun(rules('d/web', frontend({ backends: [near, far] })))]);
    const replies = await ask('pod', clusterIP(1), 80, 20);
    assert.deepEqual(endpointsOf(replies), [near.ip, far.ip].sort());
    for (const reply of replies) assert.equal((reply as Reached).from, addresses.pod);
    assert.deepEqual(endpointsOf(await ask('node', clusterIP(1), 80, 20)), [near.ip, far.ip].sort());
  });

  withServices('refuses at once what nobody serves, and every other port of a ClusterIP', async () => {
    const { ask, backend, near } = of();
    const empty = frontend({ ip: clusterIP(2) });
    await backend.change([begun(rules('d/web', frontend({ backends: [near] }), empty))]);
    for (const from of ['pod', 'node'] as const) {
      assert.deepEqual(await ask(from, clusterIP(2), 80), ['refused'], from);
      assert.deepEqual(await ask(from, clusterIP(1), 81), ['refused'], from);
    }
  });

  withServices('drops what others serve and this node may not', async () => {
    await of().backend.change([begun(rules('d/web', frontend({ without: 'drop' })))]);
    assert.deepEqual(await of().ask('pod', clusterIP(1), 80), ['nothing']);
  });

  withServices('leads a pod to itself', async () => {
    const { ask, backend, near } = of();
    await backend.change([begun(rules('d/web', frontend({ backends: [near] })))]);
    assert.deepEqual(endpointsOf(await ask('near', clusterIP(1), 80, 4)), [near.ip]);
  });

  withServices('keeps a client with one endpoint when asked to', async () => {
    const { ask, backend, far, near } = of();
    const sticky = frontend({ backends: [near, far], affinitySeconds: 60 });
    await backend.change([begun(rules('d/web', sticky))]);
    for (const from of ['pod', 'node'] as const)
      assert.equal(endpointsOf(await ask(from, clusterIP(1), 80, 12)).length, 1, from);
  });
};

const outsideCases: Cases = (withServices, of) => {
  const nodePort = { ip: undefined, port: 30_080, isClusterIP: false } as const;

  withServices('serves a node port to everybody, and hides who asked from outside', async () => {
    const { addresses, ask, backend, far, near } = of();
    const port = frontend({ ...nodePort, source: 'external', backends: [near, far] });
    await backend.change([begun(rules('d/web', port))]);
    for (const from of ['outside', 'pod', 'node'] as const) {
      const replies = await ask(from, addresses.node, 30_080, 20);
      assert.deepEqual(endpointsOf(replies), [near.ip, far.ip].sort(), from);
      if (from === 'outside')
        for (const reply of replies) assert.notEqual((reply as Reached).from, addresses.outside);
    }
  });

  withServices('with the policy Local shows who asked from outside, and leads pods everywhere', async () => {
    const { addresses, ask, backend, far, near } = of();
    const port = { ...nodePort, source: 'local', insideBackends: [near, far] } as const;
    await backend.change([begun(rules('d/web', frontend({ ...port, backends: [near] })))]);
    assert.deepEqual(await ask('outside', addresses.node, 30_080), [
      { at: near.ip, from: addresses.outside },
    ]);
    const inside = await ask('pod', addresses.node, 30_080, 20);
    assert.deepEqual(endpointsOf(inside), [near.ip, far.ip].sort());
    const elsewhere = rules('d/web', frontend({ ...port, backends: [], insideBackends: [far] }));
    await backend.replace([elsewhere]);
    assert.deepEqual(await ask('outside', addresses.node, 30_080), ['nothing']);
    assert.deepEqual(endpointsOf(await ask('pod', addresses.node, 30_080)), [far.ip]);
  });

  withServices('lets only allowed sources through to an address', async () => {
    const { addresses, ask, backend, external, near } = of();
    const balanced = { ip: external, source: 'external', backends: [near] } as const;
    const allowed = [`${addresses.outside}/32`, '192.0.2.0/24'];
    await backend.replace([rules('d/web', frontend({ ...balanced, allowedSources: allowed }))]);
    assert.deepEqual(endpointsOf(await ask('outside', external, 80)), [near.ip]);
    await backend.replace([rules('d/web', frontend({ ...balanced, allowedSources: ['192.0.2.0/24'] }))]);
    assert.deepEqual(await ask('outside', external, 80), ['nothing']);
  });
};

const changeCases: Cases = (withServices, of) => {
  withServices('follows a change, in which one service takes what another gives up', async () => {
    const { ask, backend, far, near } = of();
    const first = rules('d/first', frontend({ backends: [near] }));
    await backend.replace([first]);
    const moved = rules('d/first', frontend({ ip: clusterIP(2), backends: [near] }));
    const second = rules('d/second', frontend({ backends: [far] }));
    await backend.change([begun(second), { service: 'd/first', before: first, after: moved }]);
    assert.deepEqual(endpointsOf(await ask('pod', clusterIP(1), 80, 4)), [far.ip]);
    assert.deepEqual(endpointsOf(await ask('pod', clusterIP(2), 80, 4)), [near.ip]);
  });

  withServices('goes from one way of choosing to another, and to none', async () => {
    const { ask, backend, far, near } = of();
    let before = rules('d/web', frontend({ backends: [near, far] }));
    await backend.replace([before]);
    const steps: [Partial<Frontend>, string[]][] = [
      [{ backends: [near, far], affinitySeconds: 60 }, []],
      [{ backends: [far], affinitySeconds: 60 }, [far.ip]],
      [{ backends: [near] }, [near.ip]],
      [{ backends: [] }, ['refused']],
      [{ backends: [far] }, [far.ip]],
    ];
    for (const [how, expected] of steps) {
      const now = rules('d/web', frontend(how));
      await backend.change([{ service: 'd/web', before, after: now }]);
      const found = endpointsOf(await ask('pod', clusterIP(1), 80, 4));
      if (expected.length > 0) assert.deepEqual(found, expected);
      before = now;
    }
  });

  withServices('has nothing but what replaced the rest, also of a process that ended', async () => {
    const { another, ask, backend, far, near } = of();
    const [old, kept] = [clusterIP(1), clusterIP(2)];
    const both = [
      rules('d/old', frontend({ ip: old, backends: [near] })),
      rules('d/kept', frontend({ ip: kept, backends: [far] })),
    ];
    for (const next of [backend, another()]) {
      await backend.replace(both);
      assert.deepEqual(endpointsOf(await ask('pod', old, 80)), [near.ip]);
      await next.replace(both.slice(1));
      assert.deepEqual(endpointsOf(await ask('pod', kept, 80)), [far.ip]);
      assert.equal(typeof (await ask('pod', old, 80))[0], 'string', 'it leads nowhere');
    }
  });
};

const lossCases: Cases = (withServices, of) => {
  withServices('refuses a change of what somebody took; a replacement brings it back', async () => {
    const { ask, backend, far, lose, near } = of();
    const web = rules('d/web', frontend({ backends: [near] }));
    await backend.replace([web]);
    await lose();
    const more = rules('d/more', frontend({ ip: clusterIP(2), backends: [far] }));
    await assert.rejects(backend.change([begun(more)]));
    await backend.replace([web, more]);
    assert.deepEqual(endpointsOf(await ask('pod', clusterIP(1), 80)), [near.ip]);
    assert.deepEqual(endpointsOf(await ask('pod', clusterIP(2), 80)), [far.ip]);
  });

  withServices('says when somebody took what was written, until it is not asked to any more', async () => {
    const { ask, backend, look, lose, near } = of();
    const web = rules('d/web', frontend({ backends: [near] }));
    await backend.replace([web]);
    const lost = Promise.withResolvers<void>();
    const end = backend.keep(async () => {
      await backend.replace([web]);
      lost.resolve();
    });
    await lose();
    await look();
    await lost.promise;
    assert.deepEqual(endpointsOf(await ask('pod', clusterIP(1), 80)), [near.ip]);
    end();
  });
};
