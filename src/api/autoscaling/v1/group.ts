// autoscaling/v1: another face of the v2 autoscalers.
import { ensure, setDefault } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import {
  hpaFromV1,
  hpaToV1,
  horizontalPodAutoscaler as v2,
  validateHorizontalPodAutoscaler,
} from '../v2/horizontalpodautoscaler.ts';

export const autoscalingV1: GroupBehaviours = {
  horizontalpodautoscalers: {
    row: (o, now) => v2.row?.(hpaFromV1(o), now) ?? [],
    storage: { group: 'autoscaling', version: 'v2', resource: 'horizontalpodautoscalers' },
    conversion: { toStorage: hpaFromV1, fromStorage: hpaToV1 },
    strategy: {
      validate: validateHorizontalPodAutoscaler,
      applyDefaults: (o) => setDefault(ensure(o, 'spec'), 'minReplicas', 1),
    },
  },
};
