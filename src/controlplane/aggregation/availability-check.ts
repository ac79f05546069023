// Whether the server behind an APIService can be used: its Service, its endpoints, and whether it answers.
import { endpointslices, services } from '../../api/generated/resources.ts';
import type { Service } from '../../api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../api/generated/types/discovery-v1.ts';
import { type AskRemote, RemoteFailure } from '../../apiserver/aggregator/remote-questions.ts';
import type { RemoteService } from '../../apiserver/aggregator/remote-service.ts';
import type { UserInfo } from '../../apiserver/authentication/user-info.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Availability } from './write-availability.ts';

const asker: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'] };
const timeoutMs = 5_000;
/** Endpoints are chosen at random, and one that works is enough. */
const attempts = 5;

const passed: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' };

function hasEndpoint(slices: readonly EndpointSlice[], portName: string): boolean {
  return slices.some(
    ({ endpoints, ports }) =>
      (endpoints ?? []).some(({ conditions }) => conditions?.ready !== false) &&
      (ports ?? []).some(({ name, port }) => (name ?? '') === portName && port !== undefined),
  );
}

/** What is wrong with it before anybody is asked, in upstream's words. */
function serviceProblem(
  { service: { namespace, name, port } }: RemoteService,
  service: Service | undefined,
  slices: () => readonly EndpointSlice[],
): Availability | undefined {
  const problem = (reason: string, message: string): Availability => ({ status: 'False', reason, message });
  const where = `service/${name} in ${JSON.stringify(namespace)}`;
  if (service === undefined) return problem('ServiceNotFound', `${where} is not present`);
  if ((service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const found = (service.spec?.ports ?? []).find((one) => one.port === port);
  if (found === undefined) return problem('ServicePortError', `${where} is not listening on port ${port}`);
  const own = slices();
  if (own.length === 0) return problem('EndpointsNotFound', `cannot find endpointslices for ${where}`);
  const portName = found.name ?? '';
  return hasEndpoint(own, portName)
    ? undefined
    : problem(
        'MissingEndpoints',
        `endpointslices for ${where} have no addresses with port name ${JSON.stringify(portName)}`,
      );
}

async function attempt(remote: RemoteService, ask: AskRemote): Promise<void> {
  const path = `/apis/${remote.group}/${remote.version}`;
  let url = '';
  try {
    const answer = await ask(remote, { path, user: asker, timeoutMs });
    url = answer.url;
    if (answer.status >= 200 && answer.status < 300) return;
    throw new Error(`bad status from ${url}: ${answer.status}`);
  } catch (error) {
    if (error instanceof RemoteFailure) url = error.url;
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(url === '' ? why : `failing or missing response from ${url}: ${why}`, { cause: error });
  }
}

export async function checkAvailability(
  remote: RemoteService,
  { live, ask }: { readonly live: LiveObjects; readonly ask: AskRemote },
): Promise<Availability> {
  const { namespace, name } = remote.service;
  const problem = serviceProblem(remote, live.get(services, name, namespace), () =>
    live
      .list(endpointslices, { namespace })
      .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === name),
  );
  if (problem !== undefined) return problem;
  try {
    await Promise.any(Array.from({ length: attempts }, () => attempt(remote, ask)));
    return passed;
  } catch (error) {
    const last = (error as AggregateError).errors.at(-1) as Error;
    return { status: 'False', reason: 'FailedDiscoveryCheck', message: last.message };
  }
}
