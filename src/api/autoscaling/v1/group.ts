// autoscaling/v1: another face of the v2 autoscalers.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { ensured } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { HorizontalPodAutoscaler } from '../../generated/types/autoscaling-v1.ts';
import { horizontalPodAutoscaler as v2 } from '../v2/horizontalpodautoscaler.ts';
import {
  validateHorizontalPodAutoscaler,
  validateHorizontalPodAutoscalerUpdate,
} from '../v2/validate-horizontalpodautoscaler.ts';
import { hpaFromV1, hpaToV1 } from './scaler-conversion.ts';

/** The rules are those of the stored kind, of what annotations say too, and name its fields, as upstream's. */
const ruled = (o: object): JsonObject => hpaFromV1(o as JsonObject);

export const autoscalingV1: GroupBehaviours<{ horizontalpodautoscalers: HorizontalPodAutoscaler }> = {
  horizontalpodautoscalers: {
    row: (o, now) => v2.row?.(hpaFromV1(o as JsonObject), now) ?? [],
    storage: { group: 'autoscaling', version: 'v2', resource: 'horizontalpodautoscalers' },
    conversion: { toStorage: hpaFromV1, fromStorage: hpaToV1 },
    ownUpdateRules: true,
    strategy: {
      validate: (o) => validateHorizontalPodAutoscaler(ruled(o)),
      validateUpdate: (o, old, { subresource }) =>
        validateHorizontalPodAutoscalerUpdate(ruled(o), ruled(old), subresource),
      applyDefaults: (o) => (ensured(o, 'spec').minReplicas ??= 1),
    },
  },
};
