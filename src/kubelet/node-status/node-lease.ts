// The node's heartbeat: a Lease in kube-node-lease, renewed every 10 s.
import { leases, nodes } from '../../api/generated/resources.ts';
import type { Lease } from '../../api/generated/types/coordination-v1.ts';
import { isStatusError } from '../../apimachinery/errors.ts';
import { type Clock, rfc3339Micro } from '../../base/clock.ts';
import { within } from '../../base/within.ts';
import type { Client } from '../../client/client.ts';
import type { Logger } from '../../component-base/logger.ts';

export interface NodeLeaseDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly nodeName: string;
}

const nodeLeaseNamespace = 'kube-node-lease';
const durationSeconds = 40;
const renewMs = 10_000;
const retryMs = 1000;
/** As upstream's client of heartbeats: an answer that a dead connection keeps must not cost the node its readiness. */
const answerMs = 10_000;

/** The one that is there is renewed at once: it may be there since long. */
async function beginLease(deps: NodeLeaseDeps): Promise<Lease> {
  const ask = <T>(work: Promise<T>): Promise<T> => within(deps.clock, answerMs, work);
  // Owned by the node, so that it goes with it.
  const node = await ask(deps.client.get(nodes, { name: deps.nodeName }));
  const lease = {
    metadata: {
      name: deps.nodeName,
      namespace: nodeLeaseNamespace,
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Node', name: deps.nodeName, uid: node.metadata.uid ?? '' },
      ],
    },
    spec: renewed(deps),
  };
  try {
    return await ask(deps.client.create(leases, lease));
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error;
  }
  const there = { name: deps.nodeName, namespace: nodeLeaseNamespace };
  return renew(deps, await ask(deps.client.get(leases, there)));
}

const renewed = ({ nodeName, clock }: NodeLeaseDeps): Lease['spec'] => ({
  holderIdentity: nodeName,
  leaseDurationSeconds: durationSeconds,
  renewTime: rfc3339Micro(clock.now()),
});

const renew = (deps: NodeLeaseDeps, lease: Lease): Promise<Lease> =>
  within(
    deps.clock,
    answerMs,
    deps.client.update(leases, { ...lease, spec: { ...lease.spec, ...renewed(deps) } }),
  );

/** Returns the function that ends it. */
export function startNodeLease(deps: NodeLeaseDeps): () => Promise<void> {
  const stopped = new AbortController();
  async function loop(): Promise<void> {
    let lease: Lease | undefined;
    while (!stopped.signal.aborted) {
      let pauseMs = renewMs;
      try {
        lease = lease ? await renew(deps, lease) : await beginLease(deps);
      } catch (error) {
        // Missing node, changed or deleted lease, server away: read anew.
        deps.log.debug({ error }, 'the node lease could not be renewed');
        lease = undefined;
        pauseMs = retryMs;
      }
      try {
        await deps.clock.sleep(pauseMs, stopped.signal);
      } catch {
        return; // stopped
      }
    }
  }
  const work = loop();
  return async () => {
    stopped.abort();
    await work;
  };
}
