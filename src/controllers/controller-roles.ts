// What each controller's service account may do: what its controllers declare, and nothing else.
import type { PolicyRule } from '../api/generated/types/rbac-v1.ts';
import { type Access, may, rulesFor } from '../controller-runtime/access.ts';
import { declaredNamespace } from '../controller-runtime/declared-access.ts';
import type { Controller } from '../controller-runtime/define-controller.ts';
import { resourcesRead } from '../controller-runtime/wire-events.ts';
import { allControllers, type ControllersConfig } from './registry.ts';

export interface ControllerRole {
  readonly serviceAccount: string;
  /** Undefined: everywhere. */
  readonly namespace: string | undefined;
  readonly rules: readonly PolicyRule[];
}

interface Placed {
  /** Undefined: everywhere. */
  readonly namespace: string | undefined;
  readonly access: Access;
}

function placedAccess(controller: Controller): Placed[] {
  const informed = resourcesRead(controller).map((resource) => may(['list', 'watch'], resource));
  const declared = controller.type === 'keyed' ? controller.definition : {};
  return [...informed, ...controller.definition.access].map((access) => ({
    access,
    namespace: declaredNamespace(declared, { resource: access.resource.split('/')[0] ?? '' }),
  }));
}

/** Several controllers may act as one account, as upstream: what one of them may, all may. */
function rolesOf(controllers: readonly Controller[]): ControllerRole[] {
  const accounts = Map.groupBy(controllers, ({ definition }) => definition.serviceAccount);
  return [...accounts].flatMap(([serviceAccount, list]) => {
    const placed = list.flatMap(placedAccess);
    const everywhere = placed.some(({ namespace }) => namespace === undefined);
    const places = Map.groupBy(placed, ({ namespace }) => (everywhere ? undefined : namespace));
    return [...places].map(([namespace, some]) => ({
      serviceAccount,
      namespace,
      rules: rulesFor(some.map(({ access }) => access)),
    }));
  });
}

/** Nothing else of the configuration changes what they may do. */
export const controllerRoles = (
  config: Pick<ControllersConfig, 'approveKubeletServing' | 'storageVersionMigrator'>,
): ControllerRole[] => rolesOf(allControllers({ ...config, rootCa: { now: () => '' }, clusterCIDRs: [] }));
