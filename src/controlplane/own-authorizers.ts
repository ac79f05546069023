// Who decides whether somebody may: what the server has by itself, or what is configured.
import type { PolicyRule } from '../api/generated/types/rbac-v1.ts';
import type { Authorizer } from '../apiserver/authorization/authorizer.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import { countedAuthorizer } from '../plugins/authorization/counted-authorizer.ts';
import { createNodeAccess } from '../plugins/authorization/node/node-access.ts';
import { createNodeAuthorizer } from '../plugins/authorization/node-authorizer.ts';
import { createPrivilegedGroupsAuthorizer } from '../plugins/authorization/privileged-groups-authorizer.ts';
import type { createRuleResolver } from '../plugins/authorization/rbac/rule-resolver.ts';
import { createRbacAuthorizer } from '../plugins/authorization/rbac-authorizer.ts';
import { unionAuthorizer } from '../plugins/authorization/union-authorizer.ts';
import { nodeRules } from './bootstrap-objects.ts';

export type RuleResolver = ReturnType<typeof createRuleResolver>;

/** Those that the server has by itself. */
export interface OwnAuthorizers {
  readonly node: Authorizer;
  readonly rbac: Authorizer;
}

const countedOwn = ({ node, rbac }: OwnAuthorizers, metrics: MetricsRegistry): Authorizer[] => [
  countedAuthorizer(node, { type: 'Node', name: 'node' }, metrics),
  countedAuthorizer(rbac, { type: 'RBAC', name: 'rbac' }, metrics),
];

interface Options {
  /** In order. Default: Node, then RBAC. */
  readonly authorizers?: ((own: OwnAuthorizers) => readonly Authorizer[]) | undefined;
  readonly metrics: MetricsRegistry;
}

export function authorization(
  { authorizers, metrics }: Options,
  live: LiveObjects,
  resolver: RuleResolver,
): Authorizer {
  const own: OwnAuthorizers = {
    node: createNodeAuthorizer({
      access: createNodeAccess(live),
      nodeRules: nodeRules() as unknown as readonly PolicyRule[],
    }),
    rbac: createRbacAuthorizer(resolver),
  };
  // First of all, and whatever is configured: the way back in.
  return unionAuthorizer([
    createPrivilegedGroupsAuthorizer(),
    ...(authorizers === undefined ? countedOwn(own, metrics) : authorizers(own)),
  ]);
}
