// Which tracked UDP flows a change of a service makes wrong: pure. TCP ends by itself, UDP would go on to the dead.
import type { Steps } from '../base/turns.ts';
import type { FlowSelector } from '../os/packet-filter.ts';
import { Pace } from './pace.ts';
import { elementCount, type Frontend, frontendKey, type ServiceRules } from './rule-set.ts';

function selector(frontend: Frontend): FlowSelector {
  return {
    protocol: 'udp',
    destinationPort: frontend.port,
    ...(frontend.ip === undefined ? {} : { destination: frontend.ip }),
  };
}

const ipsOf = (frontend: Frontend | undefined): Set<string> =>
  new Set([...(frontend?.backends ?? []), ...(frontend?.insideBackends ?? [])].map((backend) => backend.ip));

function staleFlowsOf(old: Frontend, now: Frontend | undefined): FlowSelector[] {
  const left = ipsOf(now);
  const gone = [...ipsOf(old)].filter((ip) => !left.has(ip));
  const flows: FlowSelector[] = gone.map((ip) => ({ ...selector(old), redirectedTo: ip }));
  // flows that began while nobody served were tracked without redirection
  if (old.backends.length === 0 && left.size > 0) flows.push(selector(old));
  return flows;
}

export function* staleFlows(
  before: ServiceRules | undefined,
  now: ServiceRules | undefined,
): Steps<FlowSelector[]> {
  const pace = new Pace();
  const after = new Map<string, Frontend>();
  for (const frontend of now?.frontends ?? []) {
    if (frontend.protocol === 'udp') after.set(frontendKey(frontend), frontend);
    if (pace.over()) yield;
  }
  const flows: FlowSelector[] = [];
  for (const old of before?.frontends ?? []) {
    if (old.protocol === 'udp')
      for (const flow of staleFlowsOf(old, after.get(frontendKey(old)))) flows.push(flow);
    if (pace.over(elementCount(old))) yield;
  }
  return flows;
}

/** Those that went to the Service itself while there were no rules: tracked without redirection, they would stay so. */
export const flowsPast = (rules: ServiceRules): Steps<FlowSelector[]> =>
  staleFlows({ ...rules, frontends: rules.frontends.map((one) => ({ ...one, backends: [] })) }, rules);
