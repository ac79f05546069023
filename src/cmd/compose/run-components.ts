// What runs beside an API server in its process, as its clients: controllers, scheduler, DNS.
import type { UserInfo } from '../../apiserver/authentication/authenticator.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { InformerFactory } from '../../client/cache/informer.ts';
import { createInformerFactory } from '../../client/cache/informer-factory.ts';
import { dropManagedFields } from '../../client/cache/shared-informer.ts';
import type { Client } from '../../client/client.ts';
import type { ClientOptions } from '../../client/create-client.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import type { ChangingText } from '../../controllers/root-ca-certificate-publisher-controller.ts';
import type { ControlPlane } from '../../controlplane/control-plane.ts';
import type { CertificateSigners, Pki } from '../../controlplane/pki.ts';
import { signJwt } from '../../crypto/jwt.ts';
import type { AuthenticationFlags } from './authentication-flags.ts';
import { serverIdentity } from './data-directory.ts';

/** Something that runs beside the API server as its client: controllers, scheduler, DNS. */
export interface ServerComponent {
  readonly name: string;
  /**
   * Resolves once it works; ends when the signal aborts. The answer, if any, resolves when it has ended. Rejects when it
   * does not work and nothing of it is left: it may be started again at once.
   */
  start(context: ComponentContext): Promise<{ readonly done: Promise<void> } | undefined>;
}

export interface ComponentContext {
  /** A client in this process that acts as `user`. */
  clientFor(user: UserInfo, options?: ClientOptions): Client;
  /** This server's, among all that share a store. */
  readonly identity: string;
  /** Shared by all components; started once all of them have asked for theirs. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** PEM of what vouches for this server; a bundle may change while it runs. */
  readonly rootCa: ChangingText;
  /** Sign certificates of nodes and clients. */
  readonly signers: CertificateSigners;
  /** Signs tokens that lie in Secrets. Undefined: another program keeps the keys, and signs none that have no end. */
  readonly signToken: ((claims: Readonly<Record<string, unknown>>) => string) | undefined;
  readonly signal: AbortSignal;
}

/** `changed` tells all who must know. */
export interface RootCa extends ChangingText {
  changed(): void;
}

export function rootCaOf(pki: Pki): RootCa {
  const listeners = new Set<() => void>();
  return {
    now: () => pki.rootCaPem,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    changed: () => {
      for (const tell of listeners) tell();
    },
  };
}

interface ComponentsOptions {
  readonly authentication?: Pick<AuthenticationFlags, 'serviceAccountSigningEndpoint'> | undefined;
  readonly components?: readonly ServerComponent[];
  readonly dataDir: string;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
}

interface RunningComponents {
  /** Resolves when all of them work. */
  readonly ready: Promise<void>;
  areReady(): boolean;
  end(): void;
  ended(): Promise<void>;
}

/** Controllers, scheduler, DNS: clients of this server in its own process, with one set of informers. */
export function startComponents(
  { authentication, components = [], dataDir, log, metrics }: ComponentsOptions,
  plane: Pick<ControlPlane, 'reader' | 'clientFor'>,
  pki: Pki,
  rootCa: ChangingText,
): RunningComponents {
  const signsElsewhere = authentication?.serviceAccountSigningEndpoint !== undefined;
  let working = components.length === 0;
  const ending = new AbortController();
  const informers = createInformerFactory(
    { client: plane.reader, clock: systemClock, random: systemRandom, log, metrics, name: 'porthole-server' },
    { trim: dropManagedFields },
  );
  const context: ComponentContext = {
    clientFor: plane.clientFor,
    identity: serverIdentity(dataDir, systemRandom),
    informers,
    clock: systemClock,
    random: systemRandom,
    log,
    metrics,
    rootCa,
    signers: pki.signers,
    signToken: signsElsewhere ? undefined : (claims) => signJwt(pki.serviceAccountKey, claims),
    signal: ending.signal,
  };
  const running: Promise<void>[] = [];
  const ready = Promise.all(
    components.map(async (component) => {
      const started = await component.start({ ...context, log: log.child({ component: component.name }) });
      if (started !== undefined) running.push(started.done);
    }),
  ).then(() => {
    working = true;
  });
  informers.start();
  return {
    ready,
    areReady: () => working,
    end: () => ending.abort(),
    ended: async () => {
      await Promise.allSettled([ready, ...running]);
      await informers.stop();
    },
  };
}
