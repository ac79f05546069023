// Keeps the status of validating policies: what their expressions get wrong for the kinds that they are for. It decides nothing.
import { validatingadmissionpolicies } from '../api/generated/resources.ts';
import type { ValidatingAdmissionPolicy } from '../api/generated/types/admissionregistration-v1.ts';
import type { JsonObject, Scheme } from '../apimachinery/declaration.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import type { ApiServer } from '../apiserver/server.ts';
import type { Logger } from '../component-base/logger.ts';
import { followCache } from './follow-cache.ts';

interface Dependencies {
  readonly api: ApiServer;
  readonly live: LiveObjects;
  readonly scheme: Scheme;
  readonly log: Logger;
}

const isObserved = ({ metadata, status }: ValidatingAdmissionPolicy): boolean =>
  BigInt(status?.observedGeneration ?? 0) >= BigInt(metadata.generation ?? 0);

const versionOf = ({ metadata: { uid, generation } }: ValidatingAdmissionPolicy): string =>
  `${uid}/${generation}`;

/** One policy after the other. The language of policies is loaded with the first. */
export function keepPolicyTypeChecks({ api, live, scheme, log }: Dependencies): void {
  const { group, version, resource } = validatingadmissionpolicies;
  const store = api.store(group, version, resource);
  const check = async (policy: ValidatingAdmissionPolicy): Promise<void> => {
    const { expressionWarnings } = await import('../apiserver/admission/policy/type-checking.ts');
    const warnings = await expressionWarnings(policy, scheme);
    const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
    const observed = policy.metadata.generation;
    await store.update(
      '',
      policy.metadata.name ?? '',
      (current) => ({
        ...current,
        status: {
          ...(current?.['status'] as JsonObject | undefined),
          observedGeneration: observed as number,
          typeChecking: typeChecking as unknown as JsonObject,
        },
      }),
      { subresource: 'status' },
    );
  };
  let isLooking = false;
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    /** Whatever came of it: the next change is another occasion. */
    const tried = new Set<string>();
    for (;;) {
      const policy = live
        .list(validatingadmissionpolicies)
        .find((one) => !isObserved(one) && !tried.has(versionOf(one)));
      if (policy === undefined) break;
      tried.add(versionOf(policy));
      try {
        await check(policy);
      } catch (error) {
        if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict'))
          log.warn(
            { error, name: policy.metadata.name },
            'status of a ValidatingAdmissionPolicy not written',
          );
      }
    }
    isLooking = false;
  };
  followCache(store.cache, () => void look());
  void look();
}
