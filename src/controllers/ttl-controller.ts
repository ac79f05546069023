// Tells kubelets that ask again and again how long they may believe what they were told, by the size of the cluster.
import { nodes } from '../api/generated/resources.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';
import { ttlSeconds, ttlStep } from './node/object-ttl.ts';

const annotation = 'node.alpha.kubernetes.io/ttl';

export function ttlController(): Controller {
  const names = new Set<string>();
  let step = 0;
  return defineController({
    name: 'ttl-controller',
    queue: 'ttlcontroller',
    serviceAccount: 'ttl-controller',
    for: nodes,
    access: [may('patch', nodes)],
    watches: [
      // Nodes are told when they change the next time, as upstream: a thousand are not written because of one.
      watching(nodes, ({ metadata }, { type }) => {
        if (type === 'deleted') names.delete(metadata.name);
        else names.add(metadata.name);
        step = ttlStep(names.size, step);
        return [];
      }),
    ],
    async reconcile({ name }, context) {
      const node = context.read(nodes).get(name);
      const seconds = ttlSeconds(step);
      const known = node?.metadata.annotations?.[annotation];
      // Of a small cluster nothing need be said: the nodes' kubelets watch, and it would be one more write for each that joins.
      if (node === undefined || (known ?? '0') === String(seconds)) return undefined;
      const body = { metadata: { annotations: { [annotation]: String(seconds) } } };
      await context.write.patch(nodes, { name }, { type: 'strategic', body }, { unread: true });
      return undefined;
    },
  });
}
