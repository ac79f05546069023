// Keeps the condition Dangling of FlowSchemas: whether the priority level that a schema names is there.
import { flowschemas, prioritylevelconfigurations } from '../api/generated/resources.ts';
import type { FlowSchema, FlowSchemaCondition } from '../api/generated/types/flowcontrol-v1.ts';
import type { JsonObject } from '../apimachinery/declaration.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { obj, spec, str } from '../apimachinery/json-access.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import type { ApiServer } from '../apiserver/server.ts';
import { type Clock, rfc3339 } from '../base/clock.ts';
import type { Logger } from '../component-base/logger.ts';
import { lookAfterChanges } from './look-after-changes.ts';

interface Dependencies {
  readonly api: Pick<ApiServer, 'store'>;
  readonly live: LiveObjects;
  readonly clock: Clock;
  readonly log: Logger;
}

/** In upstream's words. */
function danglingCondition(level: string, found: boolean): FlowSchemaCondition {
  return found
    ? {
        type: 'Dangling',
        status: 'False',
        reason: 'Found',
        message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} and it exists`,
      }
    : {
        type: 'Dangling',
        status: 'True',
        reason: 'NotFound',
        message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} but there is no such object`,
      };
}

const isSame = (a: FlowSchemaCondition | undefined, b: FlowSchemaCondition): boolean =>
  a?.status === b.status && a?.reason === b.reason && a?.message === b.message;

/** One write after the other. The result ends it. */
export function keepFlowSchemaConditions({ api, live, clock, log }: Dependencies): () => void {
  const store = api.store(flowschemas.group, flowschemas.version, flowschemas.resource);
  const levels = api.store(
    prioritylevelconfigurations.group,
    prioritylevelconfigurations.version,
    prioritylevelconfigurations.resource,
  );
  const write = async (schema: FlowSchema): Promise<void> => {
    const level = str(obj(spec(schema as unknown as JsonObject)['priorityLevelConfiguration'])['name']);
    const condition = danglingCondition(level, live.get(prioritylevelconfigurations, level) !== undefined);
    const others = (schema.status?.conditions ?? []).filter(({ type }) => type !== 'Dangling');
    const before = schema.status?.conditions?.find(({ type }) => type === 'Dangling');
    if (isSame(before, condition)) return;
    const lastTransitionTime =
      before?.status === condition.status ? before?.lastTransitionTime : rfc3339(clock.now());
    const status = { conditions: [...others, { ...condition, lastTransitionTime }] } as unknown as JsonObject;
    await store.update('', schema.metadata.name ?? '', (current) => ({ ...current, status }), {
      subresource: 'status',
    });
  };
  return lookAfterChanges(clock, [store.cache, levels.cache], async (isClosed) => {
    let isDone = true;
    for (const schema of live.list(flowschemas)) {
      if (isClosed()) break;
      try {
        await write(schema);
      } catch (error) {
        if (isStatusError(error, 'NotFound')) continue;
        isDone = false;
        if (!isStatusError(error, 'Conflict'))
          log.warn({ error, name: schema.metadata.name }, 'status of a FlowSchema not written');
      }
    }
    return isDone;
  });
}
