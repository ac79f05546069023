// Tokens in Secrets that nobody asked for and nobody has used for a year are marked invalid, and deleted after another.
import { configmaps, pods, secrets, serviceaccounts } from '../api/generated/resources.ts';
import type { Secret } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { secretsOf } from '../component-helpers/pod-references.ts';
import { may } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
} from '../controller-runtime/define-controller.ts';
import { dayOfMs, invalidSinceLabel, legacyTokenFate } from './serviceaccount/legacy-token-fate.ts';

const dayMs = 86_400_000;
const trackingMap = 'kube-apiserver-legacy-service-account-token-tracking';

/** The account lists it: it was made for the account, and not by somebody who wanted it. */
function isListed({ metadata }: Secret, context: ControllerContext): boolean {
  const annotations = metadata.annotations ?? {};
  const account = context
    .read(serviceaccounts)
    .get(annotations['kubernetes.io/service-account.name'] ?? '', metadata.namespace);
  const uid = annotations['kubernetes.io/service-account.uid'] ?? '';
  if (account === undefined || (uid !== '' && uid !== account.metadata?.uid)) return false;
  return account.secrets?.some(({ name }) => name === metadata.name) === true;
}

async function trackedSince({ write }: ControllerContext): Promise<string | undefined> {
  try {
    const { data } = await write.get(configmaps, { name: trackingMap, namespace: 'kube-system' });
    return data?.['since'];
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

const isMounted = ({ metadata }: Secret, context: ControllerContext): boolean =>
  context
    .read(pods)
    .list(metadata.namespace)
    .some((pod) => secretsOf(pod).includes(metadata.name ?? ''));

export const legacyServiceAccountTokenCleanerController = (
  cleanUpPeriodMs: number = 365 * dayMs,
): Controller =>
  defineController({
    name: 'legacy-serviceaccount-token-cleaner-controller',
    queue: 'legacy_service_account_token_cleaner',
    serviceAccount: 'legacy-service-account-token-cleaner',
    for: secrets,
    reads: [pods, serviceaccounts],
    access: [{ ...may('get', configmaps), names: [trackingMap] }, may(['delete', 'patch'], secrets)],
    async reconcile({ name, namespace }, context) {
      const secret = context.read(secrets).get(name, namespace);
      if (secret?.type !== 'kubernetes.io/service-account-token') return undefined;
      const now = context.clock.now();
      const since = await trackedSince(context);
      const fate = legacyTokenFate(secret, { now, since, periodMs: cleanUpPeriodMs });
      const again = { requeueAfterMs: dayMs };
      if (fate === 'keep' || !isListed(secret, context) || isMounted(secret, context)) return again;
      const { uid = '', resourceVersion = '' } = secret.metadata;
      try {
        if (fate === 'delete')
          await context.write.delete(secrets, { name, namespace }, { preconditions: { resourceVersion } });
        else
          await context.write.patch(
            secrets,
            { name, namespace },
            { type: 'merge', body: { metadata: { uid, labels: { [invalidSinceLabel]: dayOfMs(now) } } } },
          );
      } catch (error) {
        if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
      }
      return again;
    },
  });
