// The kinds of autoscaling/v2.
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { HorizontalPodAutoscaler } from '../../generated/types/autoscaling-v2.ts';
import { horizontalPodAutoscaler } from './horizontalpodautoscaler.ts';

export const autoscalingV2: GroupBehaviours<{ horizontalpodautoscalers: HorizontalPodAutoscaler }> = {
  horizontalpodautoscalers: horizontalPodAutoscaler,
};
