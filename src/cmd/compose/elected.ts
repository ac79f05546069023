// A part of which one leads, though each server has one: it works while its server holds the part's Lease.
import { aborted } from '../../base/until-aborted.ts';
import type { ElectionTimes } from '../../controller-runtime/leader-election/election.ts';
import { LeaderElector, type Term } from '../../controller-runtime/leader-election/elector.ts';
import type { ComponentContext, ServerComponent } from './run-components.ts';

/** Names of upstream's components: of their users and Leases. */
type Elected = 'kube-controller-manager' | 'kube-scheduler';

/** After a part failed: others had their chance to lead. */
const againMs = 5_000;

export const elected = (
  component: ServerComponent,
  lease: Elected,
  times?: ElectionTimes,
): ServerComponent => ({
  name: component.name,
  async start(context) {
    const { promise: ready, reject, resolve } = Promise.withResolvers<void>();
    const done = run(component, { lease, times }, context, resolve);
    done.catch(reject);
    await ready;
    return { done };
  },
});

/** `onSettled`: the part works, or stands by. A failure before that is thrown; after that the part is tried again. */
async function run(
  component: ServerComponent,
  { lease, times }: { readonly lease: Elected; readonly times: ElectionTimes | undefined },
  context: ComponentContext,
  onSettled: () => void,
): Promise<void> {
  const { clock, clientFor, identity, log, metrics, random, signal } = context;
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
    onSettled();
  };
  while (!signal.aborted) {
    const elector = new LeaderElector({
      client: clientFor({ name: `system:${lease}`, groups: ['system:authenticated'] }),
      lease: { namespace: 'kube-system', name: lease },
      identity,
      clock,
      random,
      log,
      metrics,
      ...(times === undefined ? {} : { times }),
      lead: (term) => work(component, context, term, settle),
      onStandby: settle,
    });
    try {
      await elector.run(signal);
    } catch (error) {
      if (!isSettled) throw error;
      log.error({ error }, 'failed while it led, begins again');
      await clock.sleep(againMs, signal).catch(() => {});
    }
  }
  settle();
}

/** From the beginning of a term until nothing of the part is left. */
async function work(
  component: ServerComponent,
  context: ComponentContext,
  term: Term,
  onReady: () => void,
): Promise<void> {
  const { clientFor, informers } = context;
  const starting = component.start({
    ...context,
    clientFor: (user) => clientFor(user, { beforeWrite: term.check }),
    signal: term.signal,
  });
  informers.start();
  try {
    const started = await starting;
    onReady();
    await aborted(term.signal);
    await started?.done;
  } catch (error) {
    if (!term.signal.aborted) throw error;
  }
}
