// Answers load balancers on a service's healthCheckNodePort: 200 where a pod of it runs, 503 where none does.
import type { Service } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../component-base/logger.ts';
import type { HttpResponse } from '../wire/http-message.ts';
import { createHttpServer } from '../wire/http-server.ts';
import type { ServiceRules } from './rule-set.ts';

export interface HealthListener {
  close(): Promise<void>;
}

/** Listens for HTTP on a port of every address of the node. */
export type ListenHealth = (port: number, answer: () => HttpResponse) => Promise<HealthListener>;

const listenHealth: ListenHealth = async (port, answer) => {
  const server = createHttpServer({ tls: undefined, handler: async () => answer() });
  const close = (): Promise<void> => server.close(0);
  try {
    await server.listen(port, '0.0.0.0');
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
};

export interface HealthChecks {
  set(key: string, service: Service | undefined, rules: ServiceRules | undefined): void;
  stop(): Promise<void>;
}

interface Check {
  readonly port: number;
  localEndpoints: number;
  /** Undefined: somebody else has the port. */
  readonly listener: Promise<HealthListener | undefined>;
  cancelRetry: () => void;
}

/** As often as kube-proxy syncs at least. */
const retryMs = 30_000;

function wantedPort(service: Service | undefined): number | undefined {
  const { externalTrafficPolicy, healthCheckNodePort, type } = service?.spec ?? {};
  const port = healthCheckNodePort ?? 0;
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local' && port > 0 ? port : undefined;
}

/** Distinct pods of this node behind any port of the service. */
function countLocal(rules: ServiceRules | undefined): number {
  const outside = (rules?.frontends ?? []).filter((frontend) => frontend.source === 'local');
  return new Set(outside.flatMap((frontend) => frontend.backends.map((backend) => backend.ip))).size;
}

/** Body and headers as kube-proxy writes them. */
function healthResponse(key: string, localEndpoints: number): HttpResponse {
  const [namespace, name] = key.split('/');
  const body = JSON.stringify(
    { service: { namespace, name }, localEndpoints, serviceProxyHealthy: true },
    undefined,
    '\t',
  );
  return {
    status: localEndpoints > 0 ? 200 : 503,
    headers: {
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'x-load-balancing-endpoint-weight': String(localEndpoints),
    },
    body: Buffer.from(body),
  };
}

export function createHealthChecks(
  { log, clock }: { readonly log: Logger; readonly clock: Pick<Clock, 'timer'> },
  listen: ListenHealth = listenHealth,
): HealthChecks {
  const checks = new Map<string, Check>();
  let closing: Promise<unknown> = Promise.resolve();

  function close(key: string, check: Check): void {
    checks.delete(key);
    check.cancelRetry();
    closing = Promise.all([closing, check.listener.then((listener) => listener?.close())]);
  }
  function open(key: string, port: number, localEndpoints: number): void {
    // one that gives the port up is closed before
    const listener = closing
      .then(() => listen(port, () => healthResponse(key, checks.get(key)?.localEndpoints ?? 0)))
      .catch((error: unknown) => {
        log.warn({ error, service: key, port }, 'the health check node port cannot be served');
        if (checks.get(key) === check)
          check.cancelRetry = clock.timer(retryMs, () => open(key, port, check.localEndpoints));
        return undefined;
      });
    const check: Check = { port, localEndpoints, listener, cancelRetry: () => {} };
    checks.set(key, check);
  }
  return {
    set: (key, service, rules) => {
      const port = wantedPort(service);
      const present = checks.get(key);
      if (present !== undefined && present.port !== port) close(key, present);
      if (port === undefined) return;
      const localEndpoints = countLocal(rules);
      if (present?.port === port) present.localEndpoints = localEndpoints;
      else open(key, port, localEndpoints);
    },
    stop: async () => {
      for (const [key, check] of [...checks]) close(key, check);
      await closing;
    },
  };
}
