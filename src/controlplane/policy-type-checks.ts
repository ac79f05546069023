// Keeps the status of validating policies: what their expressions get wrong for the kinds that they are for. It decides nothing.
import { validatingadmissionpolicies } from '../api/generated/resources.ts';
import type { ValidatingAdmissionPolicy } from '../api/generated/types/admissionregistration-v1.ts';
import type { JsonObject, Scheme } from '../apimachinery/declaration.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import type { ApiServer } from '../apiserver/server.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../component-base/logger.ts';
import { lookAfterChanges } from './look-after-changes.ts';

interface Dependencies {
  readonly api: Pick<ApiServer, 'store'>;
  readonly live: LiveObjects;
  readonly scheme: Scheme;
  readonly clock: Clock;
  readonly log: Logger;
}

const isObserved = ({ metadata, status }: ValidatingAdmissionPolicy): boolean =>
  BigInt(status?.observedGeneration ?? 0) >= BigInt(metadata.generation ?? 0);

/** One that can't be read now stands for all: its key may come back. */
function firstOf(
  live: LiveObjects,
  wanted: (policy: ValidatingAdmissionPolicy) => boolean,
): ValidatingAdmissionPolicy | 'unreadable' | undefined {
  try {
    return live.list(validatingadmissionpolicies).find(wanted);
  } catch {
    return 'unreadable';
  }
}

const versionOf = ({ metadata: { uid, generation } }: ValidatingAdmissionPolicy): string =>
  `${uid}/${generation}`;

/** One policy after the other. The language of policies is loaded with the first. The result ends it. */
export function keepPolicyTypeChecks({ api, live, scheme, clock, log }: Dependencies): () => void {
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
  return lookAfterChanges(clock, [store.cache], async (isClosed) => {
    /** Whatever came of it: what failed waits for the next look. */
    const tried = new Set<string>();
    let isDone = true;
    while (!isClosed()) {
      const policy = firstOf(live, (one) => !isObserved(one) && !tried.has(versionOf(one)));
      if (policy === 'unreadable') return false;
      if (policy === undefined) break;
      tried.add(versionOf(policy));
      try {
        await check(policy);
      } catch (error) {
        if (isClosed() || isStatusError(error, 'NotFound')) continue;
        isDone = false;
        if (!isStatusError(error, 'Conflict'))
          log.warn(
            { error, name: policy.metadata.name },
            'status of a ValidatingAdmissionPolicy not written',
          );
      }
    }
    return isDone;
  });
}
