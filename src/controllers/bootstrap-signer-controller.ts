// Signs cluster-info with every bootstrap token that is meant for it: who joins with a token knows that the cluster is the right one.
import { configmaps, secrets } from '../api/generated/resources.ts';
import { keyOf } from '../client/cache/object-store.ts';
import { expirationOf, isBootstrapToken, signingToken } from '../component-helpers/bootstrap-token.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController, watching } from '../controller-runtime/define-controller.ts';
import { signedData } from './bootstrap/cluster-info-signatures.ts';

const namespace = 'kube-public';
const name = 'cluster-info';

export const bootstrapSignerController: Controller = defineController({
  name: 'bootstrap-signer-controller',
  queue: 'bootstrap_signer_queue',
  serviceAccount: 'bootstrap-signer',
  for: configmaps,
  namespace: ({ resource }) => (resource === 'secrets' ? 'kube-system' : namespace),
  access: [{ ...may('update', configmaps), names: [name] }],
  watches: [watching(secrets, (secret) => (isBootstrapToken(secret) ? [keyOf(name, namespace)] : []))],
  async reconcile(key, context) {
    if (key.name !== name || key.namespace !== namespace) return undefined;
    const info = context.read(configmaps).get(name, namespace);
    if (info === undefined) return undefined;
    const now = context.clock.now();
    const held = context
      .read(secrets)
      .list('kube-system')
      .filter((secret) => signingToken(secret, now) !== undefined)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const data = signedData(
      info.data ?? {},
      held.flatMap((secret) => signingToken(secret, now) ?? []),
    );
    if (data !== undefined) await context.write.update(configmaps, { ...info, data });
    const ends = held.flatMap((secret) => expirationOf(secret) ?? []);
    return { requeueAfterMs: ends.length === 0 ? undefined : Math.min(...ends) - now };
  },
});
