// What each controller's service account may do: what its controllers declare, and nothing else.
import type { PolicyRule } from '../api/generated/types/rbac-v1.ts';
import { type Access, may, rulesFor } from '../controller-runtime/access.ts';
import type { Controller } from '../controller-runtime/define-controller.ts';
import { resourcesRead } from '../controller-runtime/wire-events.ts';
import { allControllers, type ControllersConfig } from './registry.ts';

export interface ControllerRole {
  readonly serviceAccount: string;
  /** Undefined: everywhere. */
  readonly namespace: string | undefined;
  readonly rules: readonly PolicyRule[];
}

const informed = (controller: Controller): readonly Access[] =>
  resourcesRead(controller).map((resource) => may(['list', 'watch'], resource));

const namespaceOf = (controller: Controller): string | undefined =>
  controller.type === 'keyed' ? controller.definition.namespace : undefined;

/** Several controllers may act as one account, as upstream: what one of them may, all may. */
function rolesOf(controllers: readonly Controller[]): ControllerRole[] {
  const accounts = Map.groupBy(controllers, ({ definition }) => definition.serviceAccount);
  return [...accounts].map(([serviceAccount, list]) => ({
    serviceAccount,
    namespace: list.every((one) => namespaceOf(one) === namespaceOf(list[0]!))
      ? namespaceOf(list[0]!)
      : undefined,
    rules: rulesFor([...list.flatMap(informed), ...list.flatMap(({ definition }) => definition.access)]),
  }));
}

/** Nothing else of the configuration changes what they may do. */
export const controllerRoles = (
  config: Pick<ControllersConfig, 'approveKubeletServing' | 'storageVersionMigrator'>,
): ControllerRole[] => rolesOf(allControllers({ ...config, rootCa: { now: () => '' }, clusterCIDRs: [] }));
