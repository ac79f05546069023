// ComponentStatus: the old list of control plane parts, told by the parts that run in this process.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { notFound } from '../../apimachinery/errors.ts';
import type { RestHandler } from '../../apiserver/registry/rest-storage.ts';

export type ComponentHealth = () => Readonly<
  Record<string, { readonly healthy: boolean; readonly message: string }>
>;

const statusOf = (name: string, health: { healthy: boolean; message: string }): JsonObject => ({
  kind: 'ComponentStatus',
  apiVersion: 'v1',
  metadata: { name },
  conditions: [{ type: 'Healthy', status: health.healthy ? 'True' : 'False', message: health.message }],
});

export function createComponentStatuses(health: ComponentHealth): RestHandler {
  return {
    list: () => ({
      status: 200,
      object: {
        kind: 'ComponentStatusList',
        apiVersion: 'v1',
        metadata: {},
        items: Object.entries(health()).map(([name, state]) => statusOf(name, state)),
      },
    }),
    get(request) {
      const all = health();
      const state = Object.hasOwn(all, request.name) ? all[request.name] : undefined;
      if (state === undefined) throw notFound({ group: '', resource: 'componentstatuses' }, request.name);
      return { status: 200, object: statusOf(request.name, state) };
    },
  };
}
