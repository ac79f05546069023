// Which tracked UDP flows a change of a service makes wrong: pure. TCP ends by itself, UDP would go on to the dead.
import type { FlowSelector } from '../os/packet-filter.ts';
import { type Frontend, frontendKey, type ServiceRules } from './rule-set.ts';

function selector(frontend: Frontend): FlowSelector {
  return {
    protocol: 'udp',
    destinationPort: frontend.port,
    ...(frontend.ip === undefined ? {} : { destination: frontend.ip }),
  };
}

const udpFrontends = (rules: ServiceRules | undefined): Map<string, Frontend> =>
  new Map((rules?.frontends ?? []).filter((f) => f.protocol === 'udp').map((f) => [frontendKey(f), f]));

export function staleFlows(before: ServiceRules | undefined, now: ServiceRules | undefined): FlowSelector[] {
  const after = udpFrontends(now);
  return [...udpFrontends(before)].flatMap(([key, old]): FlowSelector[] => {
    const left = new Set(
      [...(after.get(key)?.backends ?? []), ...(after.get(key)?.insideBackends ?? [])].map((b) => b.ip),
    );
    const gone = new Set(
      [...old.backends, ...old.insideBackends].map((b) => b.ip).filter((ip) => !left.has(ip)),
    );
    const flows = [...gone].map((ip) => ({ ...selector(old), redirectedTo: ip }));
    // flows that began while nobody served were tracked without redirection
    if (old.backends.length === 0 && left.size > 0) flows.push({ ...selector(old), redirectedTo: '' });
    return flows.map(({ redirectedTo, ...flow }) => (redirectedTo === '' ? flow : { ...flow, redirectedTo }));
  });
}

/** Those that went to the Service itself while there were no rules: tracked without redirection, they would stay so. */
export const flowsPast = (rules: ServiceRules): FlowSelector[] =>
  staleFlows({ ...rules, frontends: rules.frontends.map((one) => ({ ...one, backends: [] })) }, rules);
