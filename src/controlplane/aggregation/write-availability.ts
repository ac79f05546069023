// Writes whether an APIService can be used into its status.
import type { APIServiceCondition } from '../../api/generated/types/apiregistration-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { objs, status } from '../../apimachinery/json-access.ts';
import { availableCondition } from '../../apiserver/aggregator/remote-service.ts';
import type { ResourceStore } from '../../apiserver/registry/store.ts';

export interface Availability {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export const locallyAvailable: Availability = {
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
};

const says = (condition: JsonObject | undefined, found: Availability): boolean =>
  condition?.['status'] === found.status &&
  condition['reason'] === found.reason &&
  condition['message'] === found.message;

/** Nothing is written where it is said already. Answers the condition before. */
export async function writeAvailability(
  store: Pick<ResourceStore, 'find' | 'update'>,
  name: string,
  found: Availability,
  now: string,
): Promise<APIServiceCondition | undefined> {
  const seen = availableCondition(store.find('', name) ?? {});
  const before = seen as APIServiceCondition | undefined;
  if (says(seen, found)) return before;
  await store.update(
    '',
    name,
    (current) => {
      const held = availableCondition(current!);
      if (says(held, found)) return current!;
      const lastTransitionTime = held?.['status'] === found.status ? held['lastTransitionTime'] : now;
      const condition = { type: 'Available', ...found, lastTransitionTime: lastTransitionTime ?? now };
      const others = objs(status(current!)['conditions']).filter(({ type }) => type !== 'Available');
      return { ...current!, status: { conditions: [...others, condition] } };
    },
    { subresource: 'status' },
  );
  return before;
}
