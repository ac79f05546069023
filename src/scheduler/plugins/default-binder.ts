// DefaultBinder: writes the decision through the pod's binding subresource.
import { pods } from '../../api/generated/resources.ts';
import type { Client } from '../../client/client.ts';
import type { Plugin } from '../framework/plugin.ts';
import { failure } from '../framework/status.ts';

export function defaultBinder(client: Client): Plugin {
  return {
    name: 'DefaultBinder',
    bind: async (_state, pod, node) => {
      const { name, namespace, uid } = pod.metadata;
      const binding = {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, uid },
        target: { apiVersion: 'v1', kind: 'Node', name: node },
      };
      try {
        await client.createSubresource(pods, { name, namespace }, 'binding', binding);
        return { status: undefined };
      } catch (cause) {
        return { status: failure(cause instanceof Error ? cause.message : String(cause)) };
      }
    },
  };
}
