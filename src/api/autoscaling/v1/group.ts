// autoscaling/v1: another face of the v2 autoscalers.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { ensured } from '../../../apimachinery/decoded.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { HorizontalPodAutoscaler } from '../../generated/types/autoscaling-v1.ts';
import {
  hpaFromV1,
  hpaToV1,
  horizontalPodAutoscaler as v2,
  validateHorizontalPodAutoscaler,
} from '../v2/horizontalpodautoscaler.ts';

export const autoscalingV1: GroupBehaviours<{ horizontalpodautoscalers: HorizontalPodAutoscaler }> = {
  horizontalpodautoscalers: {
    row: (o, now) => v2.row?.(hpaFromV1(o as JsonObject), now) ?? [],
    storage: { group: 'autoscaling', version: 'v2', resource: 'horizontalpodautoscalers' },
    conversion: { toStorage: hpaFromV1, fromStorage: hpaToV1 },
    strategy: {
      validate: validateHorizontalPodAutoscaler,
      applyDefaults: (o) => (ensured(o, 'spec').minReplicas ??= 1),
    },
  },
};
